/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Unwinds user stacks of 64-bit x86 code by tables: see unwindtable.h. Code of files that have no table, and code without a rule, is
 * walked by frame pointer.
 */
#ifndef WPROF_UNWIND_H
#define WPROF_UNWIND_H

struct user_frame {
	__u64 next;
	__u64 ret;
};

const volatile bool unwind_tables; /* else by frame pointer alone */
const volatile bool unwind_counted;
volatile __u32 unwind_version; /* changes with each table that user space adds or removes */

#if defined(__TARGET_ARCH_x86)

#include "unwindtable.h"
#include "mappings.h"
#include "python.h"
#include "ruby.h"

/* Statistics of walks, for wprof-record --stats. */
struct {
	__u64 by_rule, by_pointer; /* frames */
	__u64 looked_up;	   /* mappings */
	__u64 ends[STACK_ENDS];   /* stacks */
} unwind_counts;

static __always_inline void keep_word(struct unwind_walk *w, __u64 value, __u64 at)
{
	__u32 index = bounded(USER_MEMO_WORDS - w->room, USER_MEMO_WORDS);

	w->words.offsets[index] = at - w->first_sp;
	w->words.values[index] = value;
	w->depends_on_more |= (at - w->first_sp) >> 32 != 0;
	w->room--;
}

/*
 * Reads a word of the stack. One bpf_probe_read_user() takes 40 ns, mostly for checks, so more is read at once: an aligned block within a
 * page, which is there if the word is. Of another thread than the running one, the caller reads from the wanted address on, and
 * steps again.
 */
static __always_inline bool read_word(struct unwind_walk *w, __u64 *to, __u64 at)
{
	if (at & 7 || at < sizeof(w->cached))
		return false;
	if (at - w->cached_at >= sizeof(w->cached)) {
		if (w->is_other) {
			w->wanted = at;
			return false;
		}
		w->cached_at = at & ~(sizeof(w->cached) - 1);
		if (bpf_probe_read_user(w->cached, sizeof(w->cached), (void *)w->cached_at)) {
			w->cached_at = 0;
			return false;
		}
	}
	*to = w->cached[bounded((at - w->cached_at) / sizeof(*to), CACHED_WORDS)];
	if (w->room)
		keep_word(w, *to, at);
	return true;
}

/* A value that is kept, so that a step that begins again does not need its memory once more. */
static __always_inline bool load(struct unwind_walk *w, __u64 *value, __u64 *at)
{
	if (!*at)
		return true;
	if (!read_word(w, value, *at))
		return false;
	*at = 0;
	return true;
}

static __always_inline bool load_fp(struct unwind_walk *w)
{
	w->uses_fp |= !w->has_own_fp;
	return load(w, &w->fp, &w->fp_at);
}

/* arch/x86/include/asm/sigframe.h: struct rt_sigframe without its return address; the registers of its ucontext. */
#define SIGFRAME_BP (40 + 8 * 10)
#define SIGFRAME_BX (40 + 8 * 11)
#define SIGFRAME_SP (40 + 8 * 15)
#define SIGFRAME_IP (40 + 8 * 16)

static __always_inline bool step_signal(struct unwind_walk *w)
{
	__u64 pc, sp;

	if (!read_word(w, &pc, w->sp + SIGFRAME_IP) || !read_word(w, &sp, w->sp + SIGFRAME_SP) || !read_word(w, &w->fp, w->sp + SIGFRAME_BP))
		return false;
	w->bx_at = w->sp + SIGFRAME_BX;
	w->pc = pc;
	w->sp = sp;
	w->fp_at = 0;
	w->has_own_fp = 1;
	w->is_return = 0;
	return true;
}

#define REGS_BX 40 /* place of rbx in struct pt_regs */
#define REGS_AX 80
#define BX_GONE 1  /* internal/unwind: bxGone */
#define FP_GONE 1  /* no address, and not 0, with which threads begin */

/* Registers but rbx, which functions keep for their callers, are not followed beyond the innermost frame. */
static __always_inline bool is_known(const struct unwind_walk *w, const struct unwind_rule *rule)
{
	if (rule->base == BASE_REGISTER)
		return !w->is_called || (rule->add == REGS_BX && !(w->bx_at & 7));
	if (rule->base == BASE_IN_REGISTER || rule->base == BASE_CLONED)
		return !w->is_called;
	return rule->base != BASE_UNKNOWN && rule->base != BASE_SWITCH;
}

static __always_inline bool read_register(struct unwind_walk *w, __u32 at, __u64 *to)
{
	w->depends_on_more = 1;
	if (at == REGS_BX) {
		if (!load(w, &w->bx, &w->bx_at))
			return false;
		*to = w->bx;
		return true;
	}
	return !bpf_probe_read_kernel(to, sizeof(*to), (void *)(w->regs + bounded(at, 128)));
}

/* The canonical frame address; 0: it cannot be read. */
static __always_inline __u64 cfa_of(struct unwind_walk *w, const struct unwind_rule *rule)
{
	__u64 cfa = w->sp;

	if (rule->base == BASE_PLT)
		return cfa + 8 + ((w->pc & 15) >= 11 ? 8 : 0);
	if (rule->base == BASE_FP || rule->base == BASE_AT_FP) {
		if (!load_fp(w))
			return 0;
		cfa = w->fp;
	}
	if (rule->base == BASE_REGISTER && !read_register(w, rule->add, &cfa))
		return 0;
	cfa += (__s64)rule->offset;
	if (rule->base == BASE_AT_SP || rule->base == BASE_AT_FP) {
		if (!read_word(w, &cfa, cfa))
			return 0;
		cfa += (__s64)rule->add;
	}
	return cfa;
}

/* Where the caller's frame pointer is. */
static __always_inline bool find_fp(struct unwind_walk *w, const struct unwind_rule *rule, __u64 cfa)
{
	switch (rule->saved) {
	case SAVED_KEPT:
		return true;
	case SAVED_AT_CFA:
		w->fp_at = cfa + (__s64)rule->fp_offset;
		break;
	case SAVED_AT_OWN_SP:
		w->fp_at = w->sp + (__s64)rule->fp_offset;
		break;
	case SAVED_AT_OWN_FP:
		if (!load_fp(w))
			return false;
		w->fp_at = w->fp + (__s64)rule->fp_offset;
		break;
	default:
		w->fp = FP_GONE;
		w->fp_at = 0;
	}
	w->has_own_fp = 1;
	return true;
}

static __always_inline __u8 step_by_rule(struct unwind_walk *w, const struct unwind_rule *rule)
{
	__u64 cfa, pc;

	if (rule->base == BASE_ROOT)
		return END_ROOT;
	if (rule->base == BASE_SIGNAL)
		return step_signal(w) ? END_DEPTH : END_UNREADABLE;
	if (rule->base == BASE_CLONED && read_register(w, REGS_AX, &pc) && !pc)
		return END_ROOT;
	cfa = cfa_of(w, rule);
	if (rule->base == BASE_IN_REGISTER) {
		if (!read_register(w, rule->add, &pc))
			return END_UNREADABLE;
	} else if (cfa <= w->sp || !read_word(w, &pc, cfa - sizeof(__u64))) { /* A frame is above those that it has called. */
		return END_UNREADABLE;
	}
	if (!cfa || !find_fp(w, rule, cfa))
		return END_UNREADABLE;
	if (rule->bx_offset)
		w->bx_at = rule->bx_offset == BX_GONE ? BX_GONE : cfa + (__s64)rule->bx_offset;
	w->pc = pc;
	w->sp = cfa;
	w->is_return = 1;
	return END_DEPTH;
}

static __always_inline __u8 step_by_pointer(struct unwind_walk *w)
{
	bool lacks_table = mapping_of(w)->lacks_table;
	struct user_frame frame;

	if (!load_fp(w))
		return END_UNREADABLE;
	/* Threads begin with 0. Code without frame pointers may have 0 too: only its table shows that. */
	if (!w->fp && w->is_called && !lacks_table)
		return END_ROOT;
	if (w->fp < w->sp || !read_word(w, &frame.next, w->fp) || !read_word(w, &frame.ret, w->fp + sizeof(__u64)))
		return lacks_table ? END_NO_TABLE : END_NO_FRAME;
	if (!frame.ret && lacks_table)
		return END_NO_TABLE;
	w->bx_at = BX_GONE;
	w->sp = w->fp + sizeof(frame);
	w->fp = frame.next;
	w->has_own_fp = 1;
	w->pc = frame.ret;
	w->is_return = 1;
	return END_DEPTH;
}

#define TRAMPOLINE_BYTES 128 /* arch/x86/include/asm/uprobes.h: UPROBE_XOL_SLOT_BYTES */
#define MAX_PROBED 64	     /* include/linux/uprobes.h: MAX_URETPROBE_DEPTH */

/* The address to which the walk returns, where a uretprobe has replaced it. Calls that have ended by longjmp() may still be listed. */
__noinline __u64 probed_return(struct unwind_walk *w)
{
	struct return_instance *call;

	if (!w)
		return 0;
	call = w->probed;
	for (int i = 0; i < MAX_PROBED && call; i++) {
		struct return_instance *next = BPF_CORE_READ(call, next);

		if (BPF_CORE_READ(call, stack) == w->sp - sizeof(__u64)) {
			w->probed = next;
			return BPF_CORE_READ(call, orig_ret_vaddr);
		}
		call = next;
	}
	return w->pc;
}

#define COPIES_BYTES 4096 /* of the mapping with the trampoline, and copies of probed instructions */

/* A thread that executes the copy of a probed instruction is where the instruction is. */
static __always_inline void leave_copy(struct unwind_walk *w, struct task_struct *task)
{
	__u64 copy = BPF_CORE_READ(task, utask, xol_vaddr);

	if (w->pc - copy < TRAMPOLINE_BYTES)
		w->pc = BPF_CORE_READ(task, utask, vaddr) + (w->pc - copy);
}

static __always_inline void start_probed(struct unwind_walk *w, struct task_struct *task)
{
	struct return_instance *innermost;

	if (!bpf_core_field_exists(task->utask) || !BPF_CORE_READ(task, utask))
		return;
	w->trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	if (w->pc - w->trampoline < COPIES_BYTES && w->pc - w->trampoline >= TRAMPOLINE_BYTES)
		leave_copy(w, task);
	innermost = BPF_CORE_READ(task, utask, return_instances);
	if (!innermost)
		return;
	w->probed = innermost;
	w->depends_on_more = 1;
	/* The innermost call has ended, and its probe runs. */
	if (w->pc - w->trampoline < TRAMPOLINE_BYTES) {
		w->sp = BPF_CORE_READ(innermost, stack) + sizeof(__u64);
		w->pc = probed_return(w);
	}
}

/* What a frame of generated code runs next. Code that cannot be read becomes 0, unless it is to be read by the caller: see read_word(). */
static __always_inline bool read_code(struct unwind_walk *w)
{
	__u64 at = w->pc & ~7ULL, low, high = 0;
	__u32 shift = (w->pc & 7) * 8;

	if (w->code_at == w->pc)
		return true;
	if (w->is_other) {
		if (!read_word(w, &low, at) || (shift && !read_word(w, &high, at + 8)))
			return false;
		w->code = shift ? low >> shift | high << (64 - shift) : low;
	} else if (bpf_probe_read_user(&w->code, sizeof(w->code), (void *)w->pc)) {
		w->code = 0;
	}
	w->code_at = w->pc;
	return true;
}

#define ADD_SP_RET 0xc300c48348 /* add $0, %rsp; ret */
#define ADD_SP_NUMBER 0xff000000
#define ADD_SP_RET_MASK 0xff00ffffff

/*
 * The rule for a call that returns to "add $N, %rsp; ret", which says where the return address is. Python's trampolines (-X perf) are of
 * this kind.
 */
static __always_inline bool rule_of_code(__u64 code, struct unwind_rule *rule)
{
	__u32 bytes = (code & ADD_SP_NUMBER) >> 24;

	if ((code & ADD_SP_RET_MASK) != ADD_SP_RET || bytes & 0x87)
		return false;
	__builtin_memset(rule, 0, sizeof(*rule));
	rule->base = BASE_SP;
	rule->offset = bytes + sizeof(__u64);
	return true;
}

static __always_inline __u32 unwind_frame(struct unwind_walk *w)
{
	struct unwind_rule rule = {}, next = {};
	const struct unwind_mapping *m = mapping_of(w);
	__u64 offset = w->pc - w->is_return + m->to_offset;
	bool known = find_rule(&m->table, offset, &rule) && is_known(w, &rule);

	if (!m->to_offset && w->is_return) {
		w->depends_on_more = 1;
		if (!read_code(w))
			return END_UNREADABLE;
		known = rule_of_code(w->code, &rule);
	}
	if (known) {
		w->by_rule++;
		return step_by_rule(w, &rule);
	}
	/* No call returns to where only the next function has rules: makecontext() has put the address there. */
	if (w->is_return && rule.base == BASE_UNKNOWN && find_rule(&m->table, offset + 1, &next) && next.base != BASE_UNKNOWN)
		return END_ROOT;
	if (rule.base == BASE_SWITCH)
		w->sp = 0;
	w->by_pointer++;
	return step_by_pointer(w);
}

/* Goes on to the caller. Returns enum stack_end, END_DEPTH if there is one. A step that needs another thread's memory changes nothing. */
__noinline __u32 step_to_caller(struct unwind_walk *w)
{
	__u32 ended;

	if (!w)
		return END_NO_FRAME;
	ended = unwind_frame(w);
	w->is_called |= ended == END_DEPTH;
	if (w->probed && w->pc == w->trampoline)
		w->pc = probed_return(w);
	return ended;
}

static __always_inline void count_walk(const struct unwind_walk *w)
{
	__sync_fetch_and_add(&unwind_counts.by_rule, w->by_rule);
	__sync_fetch_and_add(&unwind_counts.by_pointer, w->by_pointer);
	__sync_fetch_and_add(&unwind_counts.looked_up, w->looked_up);
	if (w->ended < STACK_ENDS)
		__sync_fetch_and_add(&unwind_counts.ends[w->ended], 1);
}

static __always_inline bool in_mapping(struct unwind_walk *w, __u64 address)
{
	const struct unwind_mapping *m = mapping_of(w);

	return address >= m->start && address < m->end;
}

/* bpf_loop() only takes a pointer to the program's stack. */
struct unwind_context {
	struct scratch *s;
};

static long unwind_step(__u32 i, struct unwind_context *ctx)
{
	struct scratch *s = ctx->s;
	struct unwind_walk *w;
	bool code = true;
	__u64 address;

	if (!s || i >= TABLE_FRAMES || i >= table_depth)
		return 1;
	w = &s->walk;
	address = w->pc - w->is_return;
	if (!in_mapping(w, address))
		code = enter_mapping(w, address);
	if (!code)
		w->ended = w->pc ? END_NO_CODE : END_ROOT;
	if (!code && i)
		return 1;
	/* The innermost frame is where the thread is, whatever is there. */
	s->addrs[bounded(i, TABLE_FRAMES + 1)] = w->pc | (python_enabled ? note_python(w, address, i) : 0);
	s->count = i + 1;
	if (code)
		w->ended = step_to_caller(w);
	return w->ended != END_DEPTH;
}

static __always_inline void start_walk(struct unwind_walk *w, struct task_struct *task, struct pt_regs *regs)
{
	__builtin_memset(w, 0, __builtin_offsetof(struct unwind_walk, walks));
	w->pid = task->tgid;
	w->pc = REGS_PC(regs);
	w->sp = regs->sp;
	w->fp = REGS_FP(regs);
	w->first_sp = w->sp;
	w->first_fp = w->fp;
	w->bx = regs->bx;
	w->regs = (__u64)regs;
	start_probed(w, task);
}

/* Prepares a walk over the running thread's stack. False: the kernel has to walk it. */
static __always_inline bool begin_walk(struct scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct unwind_walk *w = &s->walk;

	if (!BPF_CORE_READ(task, mm) || !REGS_64BIT(regs))
		return false;
	start_walk(w, task, regs);
	w->version = version_of_mappings(w, task);
	return true;
}

static __always_inline void walk_by_tables(struct scratch *s)
{
	struct unwind_context ctx = {s};
	struct unwind_walk *w = &s->walk;

	start_mappings(w, w->version);
	s->count = 0;
	bpf_loop(table_depth, unwind_step, &ctx, 0);
	if (unwind_counted)
		count_walk(w);
}

#else

static __always_inline bool begin_walk(struct scratch *s)
{
	return false;
}

static __always_inline void walk_python(struct scratch *s) {}

static __always_inline void walk_ruby(struct scratch *s) {}

static __always_inline void walk_by_tables(struct scratch *s) {}

#endif
#endif
