/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Variables that user space changes while the programs run.
 */
#ifndef WPROF_WINDOW_H
#define WPROF_WINDOW_H

volatile bool armed;		 /* write records */
volatile __u32 generation;	 /* of the spool; marks of written stacks and bases of packed records have it */

volatile __u64 closed_at;	 /* when the window closed, CLOCK_MONOTONIC ns */
volatile bool goes_on;		 /* that is the window of a snapshot: the programs go on writing */

/*
 * Whether what began at start is open at the close. While the window goes on, what is listed as open may end at the same time: then the reader of
 * the records has both, and takes one. Else programs that
 * end it after the close set end instead of writing it.
 */
static __always_inline bool is_open(__u64 start, __u64 end)
{
	return start && start < closed_at && (end < start || end >= closed_at);
}

#endif
