/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Unwinds user stacks of 64-bit x86 code by tables that user space makes of files' call frame information, see
 * internal/unwind. Code without a table, and places without a rule, are walked by frame pointer.
 *
 * Which file an address belongs to is read from the process's own tree of mappings, so it is right for processes and
 * libraries that are new. A file without a table is noted for user space, which then makes one; meanwhile its
 * code is walked by frame pointer.
 *
 * Tables stand in one space of 32-bit words, in chunks that are made when they are needed. Each chunk ends with a copy of the
 * next one's first words, so that what is read from one place is contiguous.
 */
#ifndef WPROF_UNWIND_H
#define WPROF_UNWIND_H

struct user_frame {
	__u64 next;
	__u64 ret;
};

const volatile bool unwind_tables; /* else by frame pointer alone */
const volatile bool unwind_counted;
volatile __u32 unwind_version; /* changes with each table that user space adds */

#if defined(__TARGET_ARCH_x86)

#define UNWIND_CHUNK_SHIFT 18 /* log2 of its words: 1 MiB */
#define UNWIND_CHUNK_WORDS (1 << UNWIND_CHUNK_SHIFT)
#define UNWIND_CHUNK_SLACK 1024 /* words */
#define UNWIND_CHUNKS 4096
#define UNWIND_FILES 8192
#define UNWIND_MISSED 1024

#define UNWIND_PAGE_BITS 10 /* internal/unwind: PageBits */
#define UNWIND_PAGE_MASK ((1 << UNWIND_PAGE_BITS) - 1)

struct unwind_chunk {
	__u32 words[UNWIND_CHUNK_WORDS + UNWIND_CHUNK_SLACK];
};

struct unwind_chunk_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct unwind_chunk));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_CHUNKS);
	__type(key, __u32);
	__array(values, struct unwind_chunk_map);
} unwind_chunks SEC(".maps");

struct unwind_file {
	__u64 inode;
	__u64 changed; /* ctime, ns */
	__u32 device;
	__u32 pad;
};

#define VDSO_DEVICE 0xffffffff /* struct unwind_file of the image that the kernel maps into processes */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UNWIND_FILES);
	__type(key, struct unwind_file);
	__type(value, struct unwind_table);
} unwind_files SEC(".maps");

/* A mapping of a file that has no table yet, and in how many stacks it was met. */
struct unwind_mapping {
	__u64 start;
	__u64 end;
	__u32 pid;
	__u32 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UNWIND_MISSED);
	__type(key, struct unwind_file);
	__type(value, struct unwind_mapping);
} unwind_missed SEC(".maps");

/* internal/unwind: Base and Saved. */
enum unwind_base { BASE_UNKNOWN, BASE_ROOT, BASE_SP, BASE_FP, BASE_AT_SP, BASE_AT_FP, BASE_PLT, BASE_SIGNAL };
enum unwind_saved { SAVED_KEPT, SAVED_AT_CFA, SAVED_AT_OWN_FP, SAVED_AT_OWN_SP, SAVED_GONE };

struct unwind_rule {
	__s32 offset;
	__s16 fp_offset;
	__s16 add;
	__u8 base;
	__u8 saved;
	__u16 pad;
	__u32 pad2;
};

#define UNWIND_RULE_WORDS (sizeof(struct unwind_rule) / sizeof(__u32))

/* What walks met, for wprof-record --stats. */
struct {
	__u64 by_rule, by_pointer; /* frames */
	__u64 looked_up;	   /* mappings */
	__u64 ends[UNWIND_ENDS];   /* stacks */
} unwind_counts;

static __always_inline const __u32 *unwind_words(__u32 at)
{
	__u32 chunk = at >> UNWIND_CHUNK_SHIFT, zero = 0;
	void *map = bpf_map_lookup_elem(&unwind_chunks, &chunk);
	struct unwind_chunk *c;

	if (!map)
		return NULL;
	c = bpf_map_lookup_elem(map, &zero);
	return c ? &c->words[bounded(at, UNWIND_CHUNK_WORDS)] : NULL;
}

/* The last of count rows, which are sorted, whose place is not behind the given one. Without a branch. */
static __always_inline __u32 unwind_row(const __u32 *rows, __u32 count, __u32 place)
{
	__u32 at = 0;

#pragma unroll
	for (int i = 0; i < UNWIND_PAGE_BITS; i++) {
		__u32 half = count >> 1;
		__u64 row = rows[bounded(at + half, UNWIND_CHUNK_SLACK)] & UNWIND_PAGE_MASK;

		at += half & (__u32)((__s64)(row - place - 1) >> 63);
		count -= half;
	}
	return rows[bounded(at, UNWIND_CHUNK_SLACK)];
}

static __always_inline struct unwind_areas *areas_of(struct unwind_walk *w)
{
	return &w->areas[bounded(w->process, UNWIND_PROCESSES)];
}

static __always_inline struct unwind_area *area_of(struct unwind_walk *w)
{
	return &areas_of(w)->all[bounded(w->area, UNWIND_AREAS)];
}

/* The rule for the code at a place of the file that the walk is in. */
static __always_inline bool find_rule(struct unwind_walk *w, __u64 place, struct unwind_rule *rule)
{
	const struct unwind_table *t = &area_of(w)->table;
	__u32 page = (place >> UNWIND_PAGE_BITS) - t->first;
	const __u32 *index, *rows;
	const struct unwind_rule *found;
	__u32 first, count;

	if (page >= t->pages)
		return false;
	index = unwind_words(t->pages_at + page);
	if (!index)
		return false;
	first = index[0];
	count = index[1] - first;
	rows = unwind_words(t->rows_at + first);
	if (!rows)
		return false;
	first = unwind_row(rows, count, place & UNWIND_PAGE_MASK) >> UNWIND_PAGE_BITS;
	found = (void *)unwind_words(t->rules_at + first * UNWIND_RULE_WORDS);
	if (!found)
		return false;
	*rule = *found;
	return true;
}

/* include/linux/maple_tree.h: nodes are aligned to 256 bytes, and pointers to them have their type in the low bits. */
#define MAPLE_NODE_MASK 255UL
#define MAPLE_TYPE(entry) ((entry) >> 3 & 0xf)
#define MAPLE_RANGE_64 2
#define MAPLE_ARANGE_64 3
#define MAPLE_PIVOTS_64 15
#define MAPLE_APIVOTS_64 9
#define MAPLE_DEPTH 8

/* As mtree_lookup_walk(): the first slot whose pivot is not before the address. */
static __always_inline __u64 maple_slot(__u64 node, __u64 type, __u64 address)
{
	__u64 pivots[MAPLE_PIVOTS_64], slot = 0, before = 1, next;
	bool narrow = type == MAPLE_ARANGE_64;

	if (bpf_probe_read_kernel(pivots, sizeof(pivots), (void *)(node + bpf_core_field_offset(struct maple_range_64, pivot))))
		return 0;
#pragma unroll
	for (int i = 0; i < MAPLE_PIVOTS_64; i++) {
		/*
		 * pivots[i] < address, without a branch, which would multiply what the verifier has to look at. Pivots are
		 * the last bytes of pages.
		 */
		before &= ((pivots[i] >> 12) - (address >> 12)) >> 63;
		if (i < MAPLE_APIVOTS_64)
			slot += before;
		else
			slot += before & !narrow;
	}
	node += narrow ? bpf_core_field_offset(struct maple_arange_64, slot) : bpf_core_field_offset(struct maple_range_64, slot);
	if (bpf_probe_read_kernel(&next, sizeof(next), (void *)(node + slot * sizeof(__u64))))
		return 0;
	return next;
}

/*
 * The struct vm_area_struct whose range has the address; 0: there is none, or the tree is being changed. The nodes are freed by RCU,
 * and programs run in a read-side section of it.
 */
__noinline __u64 find_area(__u64 address)
{
	struct mm_struct *mm = bpf_get_current_task_btf()->mm;
	__u64 entry;

	if (!mm)
		return 0;
	entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);

	if ((entry & 3) != 2)
		return entry; /* the only one */
	for (int i = 0; i < MAPLE_DEPTH; i++) {
		__u64 type = MAPLE_TYPE(entry);

		entry = maple_slot(entry & ~MAPLE_NODE_MASK, type, address);
		if (type < MAPLE_RANGE_64 || !entry)
			return entry;
	}
	return 0;
}

static __always_inline void note_missed(struct unwind_walk *w, const struct unwind_area *a, const struct unwind_file *file)
{
	struct unwind_mapping *known = bpf_map_lookup_elem(&unwind_missed, file), new = {};

	if (known) {
		__sync_fetch_and_add(&known->count, 1);
		return;
	}
	new.start = a->start;
	new.end = a->end;
	new.pid = w->pid;
	new.count = 1;
	bpf_map_update_elem(&unwind_missed, file, &new, BPF_ANY);
}

static __always_inline __u64 area_changed_at(struct inode *inode)
{
	if (bpf_core_field_exists(inode->i_ctime_sec))
		return BPF_CORE_READ(inode, i_ctime_sec) * 1000000000ULL + BPF_CORE_READ(inode, i_ctime_nsec);
	if (bpf_core_field_exists(inode->__i_ctime))
		return BPF_CORE_READ(inode, __i_ctime.tv_sec) * 1000000000ULL + BPF_CORE_READ(inode, __i_ctime.tv_nsec);
	return BPF_CORE_READ(inode, i_ctime.tv_sec) * 1000000000ULL + BPF_CORE_READ(inode, i_ctime.tv_nsec);
}

static __always_inline void use_table(struct unwind_walk *w, struct unwind_area *a, const struct unwind_file *file)
{
	struct unwind_table *t = bpf_map_lookup_elem(&unwind_files, file);

	if (!t) {
		note_missed(w, a, file);
		return;
	}
	if (t->used != generation)
		t->used = generation;
	a->table = *t;
}

/* Fills the walk's area with the mapping of the address. Returns false if no code is there. */
static __always_inline bool look_up_area(struct unwind_walk *w, __u64 address)
{
	struct vm_area_struct *area = (struct vm_area_struct *)find_area(address);
	struct mm_struct *mm = bpf_get_current_task_btf()->mm;
	struct unwind_area *a = area_of(w);
	struct unwind_file file = {};
	struct inode *inode;
	struct file *f;
	__u64 start, end;

	w->looked_up++;
	a->start = a->end = 0;
	a->table.pages = 0;
	if (!area || !mm)
		return false;
	start = BPF_CORE_READ(area, vm_start);
	end = BPF_CORE_READ(area, vm_end);
	if (address < start || address >= end || !(BPF_CORE_READ(area, vm_flags) & VM_EXEC))
		return false;
	a->start = start;
	a->end = end;
	f = BPF_CORE_READ(area, vm_file);
	if (f) {
		inode = BPF_CORE_READ(f, f_inode);
		file.inode = BPF_CORE_READ(inode, i_ino);
		file.device = BPF_CORE_READ(inode, i_sb, s_dev);
		file.changed = area_changed_at(inode);
		a->in_file = BPF_CORE_READ(area, vm_pgoff) * 4096 - start;
		use_table(w, a, &file);
	} else if (start == (__u64)BPF_CORE_READ(mm, context.vdso)) {
		file.device = VDSO_DEVICE;
		a->in_file = -start;
		use_table(w, a, &file);
	}
	return true;
}

/* The area with the address, of those that were looked up before; UNWIND_AREAS: none. Without a branch. User addresses have 56 bits. */
static __always_inline __u32 known_area(const struct unwind_areas *of, __u64 address)
{
	__u32 found = UNWIND_AREAS;

#pragma unroll
	for (__u32 i = 0; i < UNWIND_AREAS; i++) {
		__u64 from_start = address - of->all[i].start, from_end = address - of->all[i].end;
		__u32 inside = (from_end & ~from_start) >> 63;

		found ^= (found ^ i) & -inside;
	}
	return found;
}

/* Makes the mapping of the address the walk's. Returns false if no code is there. */
__noinline bool enter_area(struct unwind_walk *w, __u64 address)
{
	struct unwind_areas *of;
	__u32 known;

	if (!w)
		return false;
	of = areas_of(w);
	known = known_area(of, address);
	if (known < UNWIND_AREAS) {
		w->area = known;
		return true;
	}
	w->area = bounded(of->next++, UNWIND_AREAS);
	return look_up_area(w, address);
}

static __always_inline void start_areas(struct unwind_walk *w, __u64 state)
{
	struct unwind_areas *of;

	w->process = bounded(state, UNWIND_PROCESSES);
	if (areas_of(w)->state != state)
		w->process ^= 1;
	of = areas_of(w);
	if (of->state == state)
		return;
	/* Processes that take turns settle in one place each. */
	w->process ^= w->walks++ & 1;
	of = areas_of(w);
	__builtin_memset(of, 0, sizeof(*of));
	of->state = state;
}

struct mm_struct___counted { /* 6.4 to 6.12 */
	int mm_lock_seq;
};

struct mm_struct___seqcount { /* since 6.13 */
	struct {
		unsigned sequence;
	} mm_lock_seq;
};

/*
 * A number that changes with the process, its mappings and the tables. The kernel counts changes of mappings if it is built with
 * locks for each of them (CONFIG_PER_VMA_LOCK, since 6.4); else each walk has another number.
 */
static __always_inline __u64 state_of_areas(struct unwind_walk *w, struct task_struct *task)
{
	__u64 version = (__u64)unwind_version << 32 ^ mix_fast(generation);
	struct mm_struct *mm = task->mm;

	if (bpf_core_field_exists(((struct mm_struct___seqcount *)0)->mm_lock_seq.sequence))
		return mix64(user_seed(task) ^ version ^ BPF_CORE_READ((struct mm_struct___seqcount *)mm, mm_lock_seq.sequence));
	if (bpf_core_field_exists(((struct mm_struct___counted *)0)->mm_lock_seq))
		return mix64(user_seed(task) ^ version ^ (__u32)BPF_CORE_READ((struct mm_struct___counted *)mm, mm_lock_seq));
	return mix64(++w->walks);
}

/*
 * Reads a word of the stack. One read of the kernel's takes 40 ns, mostly for checks, so more is read at once. A window is aligned and
 * within a page, so it is there if the word is.
 */
static __always_inline bool read_word(struct unwind_walk *w, __u64 *to, __u64 at)
{
	__u64 window = at & ~(sizeof(w->window) - 1);

	if (at & 7)
		return !bpf_probe_read_user(to, sizeof(*to), (void *)at);
	if (window != w->window_at) {
		if (!window || bpf_probe_read_user(w->window, sizeof(w->window), (void *)window)) {
			w->window_at = 0;
			return false;
		}
		w->window_at = window;
	}
	*to = w->window[bounded(at / sizeof(*to), UNWIND_WINDOW)];
	return true;
}

static __always_inline bool own_fp(struct unwind_walk *w)
{
	if (!w->fp_at)
		return true;
	if (!read_word(w, &w->fp, w->fp_at))
		return false;
	w->fp_at = 0;
	return true;
}

/* arch/x86/include/asm/sigframe.h: struct rt_sigframe without its return address; the registers of its ucontext. */
#define SIGFRAME_BP (40 + 8 * 10)
#define SIGFRAME_SP (40 + 8 * 15)
#define SIGFRAME_IP (40 + 8 * 16)

static __always_inline bool step_signal(struct unwind_walk *w)
{
	__u64 at = w->sp;

	if (!read_word(w, &w->pc, at + SIGFRAME_IP) || !read_word(w, &w->sp, at + SIGFRAME_SP) || !read_word(w, &w->fp, at + SIGFRAME_BP))
		return false;
	w->fp_at = 0;
	w->called = 0;
	return true;
}

/* The canonical frame address; 0: it cannot be read. */
static __always_inline __u64 cfa_of(struct unwind_walk *w, const struct unwind_rule *rule)
{
	__u64 cfa = w->sp;

	if (rule->base == BASE_PLT)
		return cfa + 8 + ((w->pc & 15) >= 11 ? 8 : 0);
	if (rule->base == BASE_FP || rule->base == BASE_AT_FP) {
		if (!own_fp(w))
			return 0;
		cfa = w->fp;
	}
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
		return true;
	case SAVED_AT_OWN_SP:
		w->fp_at = w->sp + (__s64)rule->fp_offset;
		return true;
	case SAVED_AT_OWN_FP:
		if (!own_fp(w))
			return false;
		w->fp_at = w->fp + (__s64)rule->fp_offset;
		return true;
	}
	w->fp = w->fp_at = 0;
	return true;
}

static __always_inline __u8 step_by_rule(struct unwind_walk *w, const struct unwind_rule *rule)
{
	__u64 cfa;

	if (rule->base == BASE_ROOT)
		return END_ROOT;
	if (rule->base == BASE_SIGNAL)
		return step_signal(w) ? END_DEPTH : END_UNREADABLE;
	cfa = cfa_of(w, rule);
	/* A frame is above those that it has called. */
	if (!cfa || cfa <= w->sp || !find_fp(w, rule, cfa) || !read_word(w, &w->pc, cfa - sizeof(__u64)))
		return END_UNREADABLE;
	w->sp = cfa;
	w->called = 1;
	return END_DEPTH;
}

static __always_inline __u8 step_by_pointer(struct unwind_walk *w)
{
	struct user_frame frame;

	if (!own_fp(w))
		return END_UNREADABLE;
	if (!w->fp)
		return END_ROOT;
	if (w->fp & 7 || w->fp < w->sp || bpf_probe_read_user(&frame, sizeof(frame), (void *)w->fp))
		return END_NO_FRAME;
	w->sp = w->fp + sizeof(frame);
	w->fp = frame.next;
	w->pc = frame.ret;
	w->called = 1;
	return END_DEPTH;
}

/* Goes on to the caller. Returns enum unwind_end, END_DEPTH if there is one. */
__noinline __u32 step_to_caller(struct unwind_walk *w)
{
	struct unwind_rule rule;

	if (!w)
		return END_NO_FRAME;
	if (find_rule(w, w->pc - w->called + area_of(w)->in_file, &rule) && rule.base != BASE_UNKNOWN) {
		w->by_rule++;
		return step_by_rule(w, &rule);
	}
	w->by_pointer++;
	return step_by_pointer(w);
}

static __always_inline void count_walk(const struct unwind_walk *w)
{
	__sync_fetch_and_add(&unwind_counts.by_rule, w->by_rule);
	__sync_fetch_and_add(&unwind_counts.by_pointer, w->by_pointer);
	__sync_fetch_and_add(&unwind_counts.looked_up, w->looked_up);
	if (w->ended < UNWIND_ENDS)
		__sync_fetch_and_add(&unwind_counts.ends[w->ended], 1);
}

struct unwind_context {
	struct scratch *s;
};

static long unwind_step(__u32 i, struct unwind_context *ctx)
{
	struct scratch *s = ctx->s;
	struct unwind_area *area;
	struct unwind_walk *w;
	bool code = true;
	__u64 place;

	if (!s || i >= STACK_FRAMES)
		return 1;
	w = &s->walk;
	place = w->pc - w->called;
	area = area_of(w);
	if (place < area->start || place >= area->end)
		code = enter_area(w, place);
	if (!code)
		w->ended = w->pc ? END_NO_CODE : END_ROOT;
	if (!code && i)
		return 1;
	/* The innermost frame is where the thread is, whatever is there. */
	s->addrs[bounded(i, STACK_FRAMES + 1)] = w->pc;
	s->count = i + 1;
	if (code)
		w->ended = step_to_caller(w);
	return w->ended != END_DEPTH;
}

/* Returns the number of frames; 0: the kernel has to walk this stack. */
static __always_inline __u32 walk_by_tables(struct scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct unwind_context ctx = {s};
	struct unwind_walk *w = &s->walk;

	if (!task->mm || !REGS_64BIT(regs))
		return 0;
	if (bpf_core_field_exists(task->utask) && task->utask)
		return 0;
	__builtin_memset(w, 0, __builtin_offsetof(struct unwind_walk, walks));
	start_areas(w, state_of_areas(w, task));
	w->pid = task->tgid;
	w->pc = REGS_PC(regs);
	w->sp = regs->sp;
	w->fp = REGS_FP(regs);
	s->count = 0;
	bpf_loop(STACK_FRAMES, unwind_step, &ctx, 0);
	if (unwind_counted)
		count_walk(w);
	return frames(s);
}

#else

static __always_inline __u32 walk_by_tables(struct scratch *s)
{
	return 0;
}

#endif
#endif
