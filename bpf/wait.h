/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What a thread waits for: its system call, from the registers with which it entered the kernel, and the file or lock in the
 * call's arguments. No system call is traced. As with stacks, what is the same as before is only referred to by its id.
 *
 * Cannot see: the descriptors of a poll or select of several, and what io_uring's workers do for a thread.
 */
#ifndef WPROF_WAIT_H
#define WPROF_WAIT_H

const volatile bool waits_enabled;

/* How the arguments of a system call are used, by its number. */
#define WAIT_CALLS 512
enum rec_wait_use {
	USE_ARGS = 0x3f,   /* a bit for each argument that identifies what is waited for */
	USE_FD = 0x40,	   /* the first one is a descriptor */
	USE_FUTEX = 0x80,  /* the first one is a futex's address */
	USE_POLLFD = 0x100, /* the first one is the address of as many struct pollfd as the second one says */
	USE_RING = 0x200, /* of io_uring_enter: the first one is no descriptor if the fourth one has RING_REGISTERED */
};
const volatile __u16 wait_calls[WAIT_CALLS];

#define RING_REGISTERED 16 /* IORING_ENTER_REGISTERED_RING of include/uapi/linux/io_uring.h */
#define FUTEX_WAITERS 0x80000000 /* in the word of a robust mutex, with the owner */
#define FUTEX_CMD_MASK 127 /* include/uapi/linux/futex.h */
#define FUTEX_WAIT 0
#define FUTEX_LOCK_PI 6
#define FUTEX_LOCK_PI2 13
#define FUTEX_TID_MASK 0x3fffffff
#define MUTEX_CONTENDED 2 /* the value of a pthread mutex that has waiters, in glibc and musl */
#define MUTEX_OWNER 8 /* bytes from the value to the owner in a pthread_mutex_t of glibc on 64-bit machines */

#define S_IFMT 0170000 /* include/uapi/linux/stat.h */
#define S_IFSOCK 0140000
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10

struct wait_call {
	__s32 number;
	__u16 use;
	bool compat;
	bool is_gil; /* of a futex: it is in the state of Python's global lock, which is the first argument then, so that all such waits are one */
	__u64 args[6];
};

/* Returns false for threads that never ran in user mode. */
static __always_inline bool read_call(struct task_struct *task, struct wait_call *call)
{
	struct pt_regs *regs;

	if (task->flags & (PF_KTHREAD | worker_flags()))
		return false;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	call->number = REGS_SYSCALL(regs);
	call->compat = REGS_32BIT(regs);
	call->use = 0;
	call->is_gil = false;
	if (call->number >= 0 && call->number < WAIT_CALLS && !call->compat)
		call->use = wait_calls[call->number & (WAIT_CALLS - 1)];
	if (call->number < 0)
		call->number = -1;
	if (call->use) {
		__u64 args[6] = REGS_ARGS(regs);

#pragma unroll
		for (int i = 0; i < 6; i++)
			call->args[i] = call->use & 1 << i ? args[i] : 0;
		if (call->use & USE_RING && args[3] & RING_REGISTERED)
			call->use &= ~USE_FD;
	} else {
		__builtin_memset(call->args, 0, sizeof(call->args));
	}
	return true;
}

/* Returns a thread's state bits with REC_IOWAIT, which a wait that is too short for a rec_wait has too. */
static __always_inline __u32 mark_iowait(struct task_struct *task, __u32 state)
{
	state &= ~REC_IOWAIT;
	if (state & TASK_UNINTERRUPTIBLE && bpf_core_field_exists(task->in_iowait) && BPF_CORE_READ_BITFIELD(task, in_iowait))
		state |= REC_IOWAIT;
	return state;
}

/*
 * The thread that owns the lock for which a thread is about to wait, in the PID namespace of both, as the lock's memory says; 0: not known.
 * A word that only looks like a mutex may hold anything: the reader takes it if it is a thread of the process.
 */
static __always_inline __u32 owner_in(__u32 op, __u32 value, __u32 word, __u32 after)
{
	op &= FUTEX_CMD_MASK;
	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2 || (op == FUTEX_WAIT && value & FUTEX_WAITERS))
		return word & FUTEX_TID_MASK;
	return op == FUTEX_WAIT && value == MUTEX_CONTENDED ? after : 0;
}

static __always_inline bool has_owner(__u32 op, __u32 value)
{
	return owner_in(op, value, 1, 1);
}

struct futex_memory {
	__u32 word;
	__u32 pad;
	__u32 after; /* MUTEX_OWNER */
};

/* Of the running thread, which goes to sleep. */
static __always_inline __u32 lock_owner(struct task_struct *task)
{
	struct futex_memory memory = {};
	struct pt_regs *regs;

	if (task->flags & (PF_KTHREAD | worker_flags()))
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (REGS_SYSCALL(regs) != SYSCALL_FUTEX || REGS_32BIT(regs))
		return 0;
	__u64 args[6] = REGS_ARGS(regs);

	if (python_enabled) {
		__u32 holder = own_gil_holder(args[0]);

		if (holder)
			return holder;
	}
	if (!has_owner(args[1], args[2]) || bpf_probe_read_user(&memory, sizeof(memory), (void *)args[0]))
		return 0;
	return owner_in(args[1], args[2], memory.word, memory.after);
}

static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct files_struct *files = task->files;
	struct fdtable *fdt;

	if (!files)
		return NULL;
	fdt = files->fdt;
	if (!fdt || fd >= fdt->max_fds)
		return NULL;
	return (struct file *)read_kernel_word((__u64)&fdt->fd[fd]);
}

struct wait_file {
	struct file *file; /* NULL: none */
	struct inode *inode;
	struct super_block *super;
	__u64 number; /* of the inode */
	__u64 private; /* what belongs to this opening of it: the socket, the eventfd, ... */
	__u32 generation;
	__u16 mode;
};

static __always_inline void find_file(struct wait_file *f, struct task_struct *task, __u32 fd)
{
	f->file = file_of(task, fd);
	if (!f->file)
		return;
	f->inode = (struct inode *)read_kernel_word((__u64)&f->file->f_inode);
	f->number = read_kernel_word((__u64)&f->inode->i_ino);
	f->super = (struct super_block *)read_kernel_word((__u64)&f->inode->i_sb);
	f->private = read_kernel_word((__u64)&f->file->private_data);
	f->generation = read_kernel_word((__u64)&f->inode->i_generation);
	f->mode = read_kernel_word((__u64)&f->inode->i_mode);
}

#define ADD(h, x) h = (h ^ mix_fast(x)) * MIX_B

/* A futex's expected value may be a counter: only what shows a mutex makes another wait. */
static __always_inline __u64 futex_value_kind(__u64 value)
{
	return value == MUTEX_CONTENDED ? value : value & FUTEX_WAITERS;
}

/* A socket may be connected anew, and begin to listen. */
static __always_inline __u64 hash_socket(__u64 h, const struct wait_file *f)
{
	struct socket *socket = (struct socket *)f->private;
	struct sock *sk = (struct sock *)read_kernel_word((__u64)&socket->sk);

	if (!sk)
		return h;
	ADD(h, read_kernel_word((__u64)&sk->__sk_common.skc_daddr));
	ADD(h, read_kernel_word((__u64)&sk->__sk_common.skc_dport)); /* with the local port, the family and the state */
	if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		ADD(h, read_kernel_word((__u64)&sk->__sk_common.skc_v6_daddr));
		ADD(h, read_kernel_word((__u64)&sk->__sk_common.skc_v6_daddr + 8));
	}
	return h;
}

static __always_inline __u64 hash_file(__u64 h, const struct wait_file *f)
{
	ADD(h, f->number);
	ADD(h, (__u64)f->super);
	ADD(h, f->private);
	ADD(h, f->generation);
	if ((f->mode & S_IFMT) == S_IFSOCK)
		h = hash_socket(h, f);
	return h;
}

static __always_inline __u64 hash_wait(struct task_struct *task, const struct wait_call *call, const struct wait_file *f, __u32 fd)
{
	__u64 h = user_seed(task) ^ (call->is_gil ? 3 : 1);
	int value = !(call->use & USE_FUTEX) ? -1 : call->number == SYSCALL_FUTEX ? 2 : 1;

	ADD(h, (__u64)(__u32)call->number << 32 | fd);
#pragma unroll
	for (int i = 0; i < 6; i++)
		ADD(h, i == value ? futex_value_kind(call->args[i]) : call->args[i]);
	if (f->file)
		h = hash_file(h, f);
	return mix64(h) | 1;
}
#undef ADD

/* Bytes of a name, at most; 0: the socket has none. */
static __always_inline __u8 read_unix_name(char *to, struct sock *sk)
{
	struct unix_address *addr = BPF_CORE_READ((struct unix_sock *)sk, addr);
	__s32 length;

	if (!addr)
		return 0;
	length = BPF_CORE_READ(addr, len) - 2;
	if (length <= 0 || length > WAIT_UNIX_NAME)
		return 0;
	if (bpf_probe_read_kernel(to, WAIT_UNIX_NAME, (void *)addr->name + bpf_core_field_offset(struct sockaddr_un, sun_path)))
		return 0;
	return length;
}

static __always_inline void read_unix(struct rec_wait *rec, struct sock *sk)
{
	struct sock *peer;

	if (!bpf_core_type_exists(struct unix_sock))
		return;
	rec->unix_length[0] = read_unix_name(rec->unix_names[0], sk);
	peer = BPF_CORE_READ((struct unix_sock *)sk, peer);
	if (peer)
		rec->unix_length[1] = read_unix_name(rec->unix_names[1], peer);
}

static __always_inline void read_socket(struct rec_wait *rec, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);

	if (!sk)
		return;
	rec->flags |= WAIT_HAS_SOCKET;
	rec->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	rec->tcp_state = BPF_CORE_READ(sk, __sk_common.skc_state);
	if (bpf_core_field_exists(sk->sk_protocol))
		rec->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (rec->family == AF_UNIX)
		read_unix(rec, sk);
	if (rec->family != AF_INET && rec->family != AF_INET6)
		return;
	rec->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	rec->remote_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (rec->family == AF_INET) {
		BPF_CORE_READ_INTO((__u32 *)rec->local, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__u32 *)rec->remote, sk, __sk_common.skc_daddr);
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO((struct in6_addr *)rec->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO((struct in6_addr *)rec->remote, sk, __sk_common.skc_v6_daddr);
	}
}

static __always_inline void read_names(struct rec_wait *rec, struct file *file)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);

#pragma unroll
	for (int i = 0; i < 3; i++) {
		struct dentry *parent;

		if (!dentry)
			return;
		bpf_probe_read_kernel_str(rec->names[i], WAIT_NAME, BPF_CORE_READ(dentry, d_name.name));
		parent = BPF_CORE_READ(dentry, d_parent);
		if (parent == dentry)
			return;
		dentry = parent;
	}
}

static __always_inline void read_file(struct rec_wait *rec, const struct wait_file *f)
{
	struct super_block *super = f->super; /* BPF_CORE_READ() takes every structure in its argument for the kernel's */
	struct inode *inode = f->inode;

	rec->flags |= WAIT_HAS_FILE;
	rec->inode = f->number;
	rec->mode = f->mode;
	rec->rdev = BPF_CORE_READ(inode, i_rdev);
	rec->device = BPF_CORE_READ(super, s_dev);
	rec->magic = BPF_CORE_READ(super, s_magic);
	if ((rec->mode & S_IFMT) == S_IFSOCK)
		read_socket(rec, f->file);
	else
		read_names(rec, f->file);
}

static __always_inline void describe_wait(struct rec_wait *rec, struct task_struct *task, const struct wait_call *call,
					  const struct wait_file *f, __u32 fd)
{
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->hdr.ts = bpf_ktime_get_ns();
	rec->hdr.kind = REC_WAIT;
	rec->hdr.tid = task->pid;
	rec->pid = task->tgid;
	rec->number = call->number;
	__builtin_memcpy(rec->args, call->args, sizeof(rec->args));
	rec->flags = (call->compat ? WAIT_COMPAT : 0) | (call->use & USE_FUTEX ? WAIT_IS_FUTEX : 0) | (call->is_gil ? WAIT_IS_GIL : 0);
	rec->fd = fd;
	if (call->use & USE_FD)
		rec->flags |= WAIT_HAS_FD;
	if (f->file)
		read_file(rec, f);
}

struct pollfd {
	__s32 fd;
	__u16 events;
	__u16 revents;
};

static __always_inline bool polls_one(const struct wait_call *call)
{
	return call->use & USE_POLLFD && call->args[1] == 1;
}

/*
 * Turns a poll of one descriptor into a call with that descriptor, and what is polled for, as arguments. A negative one is ignored: that
 * is a poll of none.
 */
static __always_inline void set_polled(struct wait_call *call, const struct pollfd *polled)
{
	if (polled->fd < 0) {
		call->args[0] = call->args[1] = 0;
		return;
	}
	call->use |= USE_FD;
	call->args[0] = polled->fd;
	call->args[2] = polled->events;
}

static __always_inline void read_polled(struct wait_call *call)
{
	struct pollfd polled;

	if (polls_one(call) && !bpf_probe_read_user(&polled, sizeof(polled), (void *)call->args[0]))
		set_polled(call, &polled);
	else if (call->use & USE_POLLFD)
		call->args[0] = 0;
}

static __always_inline void set_gil(struct wait_call *call, __u64 gil)
{
	call->is_gil = gil != 0;
	if (!gil)
		return;
	call->args[0] = gil;
	call->args[2] = 0;
}

/* A copy of the record goes to the ring. at is its time; 0: now. The room is reserved before the clock is read, as for any record. */
static __noinline bool write_wait(struct scratch *s, __u64 at)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct rec_wait *rec = claim_here(cpu, sizeof(*rec)), *from = (struct rec_wait *)s->addrs;

	if (!rec) {
		count_loss(cpu, REC_STACK);
		return false;
	}
	from->hdr.ts = at ? at : bpf_ktime_get_ns();
	from->hdr.cpu = cpu;
	bpf_probe_read_kernel(rec, sizeof(*rec), from);
	submit(rec, sizeof(*rec));
	return true;
}

/* The id of what the running thread waits for, or has waited for if it has just come back; 0: nothing is known of it. */
__noinline __u64 intern_wait(struct scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct wait_file f = {};
	struct wait_call call;
	struct stack_mark mark;
	__u32 fd = 0;
	__u64 id;

	if (!s || !read_call(task, &call))
		return 0;
	read_polled(&call);
	if (python_enabled && call.use & USE_FUTEX)
		set_gil(&call, own_gil(call.args[0]));
	if (call.use & USE_FD) {
		fd = call.args[0];
		find_file(&f, task, fd);
	}
	id = hash_wait(task, &call, &f, fd);
	mark = stack_mark_of(id);
	if (!mark.at)
		return 0;
	if (*mark.at == mark.value)
		return id;
	_Static_assert(sizeof(struct rec_wait) <= sizeof(s->addrs), "the buffer holds it");
	describe_wait((struct rec_wait *)s->addrs, task, &call, &f, fd);
	((struct rec_wait *)s->addrs)->id = id;
	if (!write_wait(s, 0))
		return 0;
	*mark.at = mark.value;
	return id;
}

static __always_inline __u64 take_wait(void)
{
	struct scratch *s = get_scratch(REC_STACK);
	__u64 id;

	if (!s)
		return 0;
	id = intern_wait(s);
	put_scratch(s);
	return id;
}

#endif
