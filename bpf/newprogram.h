/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Reports the start of a program whose file was not reported recently, so that the file is opened before the program
 * ends and is deleted. perf wakes a CPU's reader only for this report, at once and on that CPU. A program that is
 * started over and over is reported every 8.6 s; each other start costs 60 ns.
 */
#ifndef WPROF_NEWPROGRAM_H
#define WPROF_NEWPROGRAM_H

#define REPORTED_FILES 4096 /* a power of two; two files with the same slot are reported each time */
#define REPORT_AGAIN_SHIFT 33

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} new_programs SEC(".maps");

static __u64 reported_files[REPORTED_FILES];

SEC("tp_btf/sched_process_exec")
int BPF_PROG(new_program, struct task_struct *task, int old_tid, struct linux_binprm *bprm)
{
	struct inode *inode = bprm->file->f_inode;
	__u64 mark, *reported;
	__u32 pid = task->tgid;

	follow_from_exec(task);
	if (!passes_filter_noinline(task))
		return 0;
	mark = mix64(inode->i_ino ^ (__u64)inode->i_generation << 32);
	mark = mix64(mark ^ ctime_ns(inode) ^ (__u64)inode->i_sb->s_dev << 32);
	reported = &reported_files[mark & (REPORTED_FILES - 1)];
	mark = mix64(mark ^ bpf_ktime_get_ns() >> REPORT_AGAIN_SHIFT);
	if (*reported == mark)
		return 0;
	if (!bpf_perf_event_output(ctx, &new_programs, BPF_F_CURRENT_CPU, &pid, sizeof(pid)))
		*reported = mark;
	return 0;
}

#endif
