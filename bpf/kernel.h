/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The fields of the kernel's structures that the programs read. Offsets are relocated when the programs are loaded; a
 * field that not every kernel has is read only if bpf_core_field_exists().
 */
#ifndef WPROF_KERNEL_H
#define WPROF_KERNEL_H

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

#define true 1
#define false 0
#define NULL ((void *)0)

/* include/uapi/linux/bpf.h */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_NO_PREALLOC = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_F_USER_STACK = 256,
	BPF_F_MMAPABLE = 1024,
	BPF_RB_FORCE_WAKEUP = 2,
};
#define BPF_F_CURRENT_CPU 0xffffffffULL

#define EFAULT 14
#define EBUSY 16

/* include/linux/sched.h */
#define PF_IO_WORKER 0x10
#define PF_WQ_WORKER 0x20
#define PF_USER_WORKER 0x4000 /* since 6.4, see worker_flags() */
#define PF_KTHREAD 0x200000
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_DEAD 0x80

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* arch/x86/include/asm/thread_info.h: a system call of 32-bit code */
#define TS_COMPAT 0x2

struct thread_info {
	__u32 cpu;
#if defined(__TARGET_ARCH_x86)
	__u32 status;
#endif
#if defined(__TARGET_ARCH_arm64)
	__u64 preempt_count;
#endif
};

struct pcpu_hot { /* x86, 6.2 to 6.14 */
	int preempt_count;
	void *hardirq_stack_ptr;
};

struct irqaction {
	const char *name;
};

struct work_struct {
	void *func;
};

struct net_device {
	char name[16];
	unsigned short type; /* ARPHRD_ */
};

struct sk_buff {
	struct net_device *dev;
	unsigned int len;
	unsigned int data_len; /* what of it is in pages */
	__u16 queue_mapping;
	__be16 protocol;
	__u32 vlan_all;	     /* since 6.2; not 0: vlan_tci is valid */
	__u8 vlan_present : 1; /* up to 6.1 */
	__u16 vlan_tci;
	__u16 network_header; /* from head on */
	__u16 mac_header;
	unsigned char *head;
	unsigned char *data;
};

struct gendisk {
	int major;
	int first_minor;
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
	__u64 start_time_ns; /* of its allocation, CLOCK_MONOTONIC; 0: the kernel keeps no statistics of the device */
};

struct kernel_siginfo {
	int si_code;
};

struct sigaction {
	void *sa_handler;
};

struct k_sigaction {
	struct sigaction sa;
};

struct io_cqe {
	__u64 user_data;
	__s32 res;
};

struct io_kiocb {
	__u8 opcode;
	unsigned int flags; /* since 6.8 the lower half */
	struct io_cqe cqe;
};

struct rq {
	__u64 clock;	  /* sched_clock() at the last update */
	__u64 clock_task; /* the same without the time of interrupts and without stolen time */
};

struct cfs_rq {
	struct rq *rq;
	int throttle_count; /* of it and of the groups above that are throttled on this CPU; with CONFIG_CFS_BANDWIDTH */
};

struct sched_entity {
	__u64 exec_start;
	__u64 sum_exec_runtime;
	__u64 prev_sum_exec_runtime;
	struct cfs_rq *cfs_rq;
	unsigned char sched_delayed; /* since 6.12 */
};

struct sched_info {
	unsigned long long last_arrival; /* rq.clock when it was put on a CPU last */
	unsigned long long last_queued;	 /* rq.clock when it began to wait for a CPU; 0: it does not */
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live; /* threads that have not exited */
	int group_exit_code;
	unsigned int flags;
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;	/* of its PID namespace; 0: the initial one */
	struct upid numbers[]; /* its number in that namespace and in those above, by level; numbers[1] up to 6.4 */
};

/* include/linux/maple_tree.h */
struct maple_tree {
	void *ma_root;
};

struct maple_range_64 {
	void *parent;
	unsigned long pivot[15];
	void *slot[16];
};

struct maple_arange_64 {
	void *parent;
	unsigned long pivot[9];
	void *slot[10];
};

typedef struct {
	void *vdso; /* where its image is mapped */
} mm_context_t;

/* The page to which uretprobes let functions return: kernel/events/uprobes.c. */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

/* include/linux/percpu_counter.h */
struct percpu_counter {
	__s64 count; /* without what CPUs have not added yet */
};

/* Before 6.2; include/linux/mm_types_task.h. */
struct mm_rss_stat {
	__s64 count[4];
};

struct mm_struct___rss_stat {
	struct mm_rss_stat rss_stat;
};

struct mm_struct {
	struct maple_tree mm_mt; /* of struct vm_area_struct, by address; since 6.1 */
	struct task_struct *owner; /* with CONFIG_MEMCG */
	struct percpu_counter rss_stat[4]; /* since 6.2 */
	unsigned long arg_start;
	unsigned long arg_end;
	mm_context_t context;
	struct uprobes_state uprobes_state;
};

/* include/linux/mm.h */
#define VM_WRITE 0x2
#define VM_EXEC 0x4
#define VM_SHARED 0x8
#define VM_UFFD_MISSING 0x200

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff; /* offset in the file, in pages */
	struct file *vm_file;
};

#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long sp; /* stack pointer when the thread was last switched away from */
	unsigned long fsbase; /* of the running thread as well, unless it has changed it by an instruction since */
};
#endif

/* A call whose return a uretprobe waits for. */
struct return_instance {
	unsigned long stack;	      /* where its return address was */
	unsigned long orig_ret_vaddr; /* the address */
	struct return_instance *next;
};

struct uprobe_task {
	unsigned long vaddr;	 /* of the instruction that is executed in the trampoline's mapping instead */
	unsigned long xol_vaddr; /* where that is */
	struct return_instance *return_instances; /* the innermost one */
};

struct list_head {
	struct list_head *next;
};

struct kernfs_node {
	struct kernfs_node *parent;   /* up to 6.14 */
	struct kernfs_node *__parent;
	const char *name;
	__u64 id;
};

/* include/linux/dma-fence.h */
struct dma_fence_ops {
	void *get_driver_name;
};

struct dma_fence {
	const struct dma_fence_ops *ops;
	__u64 context;
	__u64 seqno;
	int error;
};

struct cgroup_root {
	int hierarchy_id; /* 0: the unified one */
};

struct cgroup {
	int level; /* 0: the root */
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

/* The cgroups that a thread is in, one of each hierarchy; kernel/cgroup/cgroup-internal.h. */
struct css_set {
	struct cgroup *dfl_cgrp; /* of the unified one */
	struct list_head cgrp_links;
};

struct cgrp_cset_link {
	struct cgroup *cgrp;
	struct list_head cgrp_link; /* in css_set.cgrp_links */
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	void *stack;
#if defined(__TARGET_ARCH_x86)
	struct thread_struct thread;
#endif
	unsigned int flags;
	int on_cpu;
	int on_rq;
	int prio;
	struct sched_entity se;
	bool throttled; /* the CPU quota of its cgroup is used up; since 6.18, with CONFIG_CFS_BANDWIDTH */
	struct sched_info sched_info;
	int pagefault_disabled; /* depth: faults are not handled */
	unsigned int policy;
	int exit_state;
	int exit_code;
	unsigned int in_execve : 1;
	unsigned int in_iowait : 1;
	unsigned long nvcsw;  /* how often it left a CPU to block */
	unsigned long nivcsw; /* ... and was preempted */
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct files_struct *files;
	struct css_set *cgroups;
	struct mm_struct *mm;
	__u64 self_exec_id; /* how often the process, and those that it was forked from, called exec */
	__u64 start_time;
	struct uprobe_task *utask; /* not NULL: it has hit a uprobe */
	char comm[16];
};

/* Registers with which a thread has entered the kernel; arch/ARCH/include/asm/ptrace.h. */
struct pt_regs {
#if defined(__TARGET_ARCH_x86)
	unsigned long r15;
	unsigned long bp;
	unsigned long bx;
	unsigned long cx;
	unsigned long ip;
	unsigned long cs; /* two bytes since 6.9 */
	unsigned long orig_ax;
	unsigned long sp;
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long r10;
	unsigned long r8;
	unsigned long r9;
#define USER_REGS_WORDS 21 /* of bpf_user_pt_regs_t */
#define REGS_ARGS(regs) {(regs)->di, (regs)->si, (regs)->dx, (regs)->r10, (regs)->r8, (regs)->r9}
#define REGS_ARGS_32BIT(regs) {(regs)->bx, (regs)->cx, (regs)->dx, (regs)->si, (regs)->di, (regs)->bp}
#define SYSCALL_FUTEX 202
#define REGS_SYSCALL(regs) (int)(regs)->orig_ax
#define SYSCALL_YIELD 24
#define REGS_PC(regs) (regs)->ip
#define REGS_FP(regs) (regs)->bp
#define REGS_32BIT(regs) (*(__u8 *)&(regs)->cs == 0x23) /* __USER32_CS */
#define REGS_64BIT(regs) (*(__u16 *)&(regs)->cs == 0x33) /* __USER_CS; neither: a segment of the program's own */
#elif defined(__TARGET_ARCH_arm64)
	__u64 regs[31];
	__u64 pc;
	__u64 pstate;
	__u64 orig_x0;
	__s32 syscallno;
#define USER_REGS_WORDS 34
#define REGS_ARGS(regs) {(regs)->orig_x0, (regs)->regs[1], (regs)->regs[2], (regs)->regs[3], (regs)->regs[4], (regs)->regs[5]}
#define REGS_ARGS_32BIT(regs) REGS_ARGS(regs)
#define SYSCALL_FUTEX 98
#define REGS_SYSCALL(regs) (regs)->syscallno
#define SYSCALL_YIELD 124
#define REGS_PC(regs) (regs)->pc
#define REGS_32BIT(regs) ((regs)->pstate & 0x10) /* PSR_MODE32_BIT */
#define REGS_FP(regs) (REGS_32BIT(regs) ? 0 : (regs)->regs[29]) /* 32-bit code has no common frame pointer */
#else
#error "which registers hold the frame pointer?"
#endif
};

#define SYSCALL_YIELD_32BIT 158 /* on both */

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
};

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};

struct inode {
	__u16 i_mode;
	__u32 i_rdev;
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_generation;
	struct timespec64 i_ctime;   /* up to 6.5 */
	struct timespec64 __i_ctime; /* up to 6.10 */
	__s64 i_ctime_sec;
	__u32 i_ctime_nsec;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data; /* of a socket: struct socket */
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct in6_addr {
	__u8 in6_u[16];
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num; /* the local port, in the machine's byte order */
	__u16 skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
	int sk_err;
};

struct socket {
	struct sock *sk;
};

struct sockaddr_un {
	char sun_path[108];
};

struct unix_address {
	int len; /* of name, with the two bytes of its family */
	struct sockaddr_un name[];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

struct linux_binprm {
	const char *filename;
	struct file *file;
};

struct kernel_clone_args {
	__u32 user_worker : 1; /* since 6.4 */
};

struct seq_file {
	unsigned long long index;
};

struct bpf_map;

enum skb_drop_reason {
	SKB_NOT_DROPPED_YET = 0,
};

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

struct btf_ptr {
	void *ptr;
	__u32 type_id;
	__u32 flags;
};

/* include/uapi/linux/bpf_perf_event.h; the kernel rewrites accesses to it, so they are not relocated. */
struct bpf_perf_event_data {
	__u64 regs[USER_REGS_WORDS];
	__u64 sample_period;
	__u64 addr;
};

#endif
