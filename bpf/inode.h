/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WPROF_INODE_H
#define WPROF_INODE_H

#define CTIME_NSEC_MASK 0x7fffffff /* since 6.13 the highest bit says that stat(2) has returned this time: I_CTIME_QUERIED */

/* When a file's contents, owner, mode or number of links last changed: st_ctim of stat(2), ns. */
static __always_inline __u64 ctime_ns(struct inode *inode)
{
	__u64 sec, nsec;

	if (bpf_core_field_exists(inode->i_ctime_sec)) {
		sec = BPF_CORE_READ(inode, i_ctime_sec);
		nsec = BPF_CORE_READ(inode, i_ctime_nsec);
	} else if (bpf_core_field_exists(inode->__i_ctime)) {
		sec = BPF_CORE_READ(inode, __i_ctime.tv_sec);
		nsec = BPF_CORE_READ(inode, __i_ctime.tv_nsec);
	} else {
		sec = BPF_CORE_READ(inode, i_ctime.tv_sec);
		nsec = BPF_CORE_READ(inode, i_ctime.tv_nsec);
	}
	return sec * 1000000000ULL + (nsec & CTIME_NSEC_MASK);
}

#endif
