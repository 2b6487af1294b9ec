/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Variables that user space changes while the programs run.
 */
#ifndef WPROF_WINDOW_H
#define WPROF_WINDOW_H

volatile bool armed;		 /* write records */
volatile __u32 generation;	 /* of the spool; marks of written stacks and bases of packed records have it */

#endif
