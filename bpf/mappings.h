/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Which file an address of a process belongs to, and that file's unwind table. It is read from the process's own tree of mappings, so
 * it is right for processes and libraries that are new. A file without a table is reported to user space, which then makes one.
 */
#ifndef WPROF_MAPPINGS_H
#define WPROF_MAPPINGS_H

#define UNWIND_FILES 8192
#define UNWIND_MISSED 1024

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
struct missed_mapping {
	__u64 start;
	__u64 end;
	__u32 pid;
	__u32 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UNWIND_MISSED);
	__type(key, struct unwind_file);
	__type(value, struct missed_mapping);
} unwind_missed SEC(".maps");

static __always_inline struct unwind_mappings *mappings_of(struct unwind_walk *w)
{
	return &w->processes[bounded(w->slot, UNWIND_PROCESSES)];
}

static __always_inline struct unwind_mapping *mapping_of(struct unwind_walk *w)
{
	return &mappings_of(w)->all[bounded(w->mapping, UNWIND_MAPPINGS)];
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
	__u64 pivots[MAPLE_PIVOTS_64], slot = 0, before = 1;
	bool narrow = type == MAPLE_ARANGE_64;

	if (!read_words(pivots, node + bpf_core_field_offset(struct maple_range_64, pivot), MAPLE_PIVOTS_64))
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
	return read_kernel_word(node + slot * sizeof(__u64));
}

/*
 * The struct vm_area_struct whose range has the address; 0: there is none, or the tree is being changed. The nodes are freed by RCU,
 * and programs run in a read-side section of it.
 */
__noinline __u64 find_mapping(__u64 address)
{
	struct mm_struct *mm = bpf_get_current_task_btf()->mm;
	__u64 entry;

	if (!mm)
		return 0;
	entry = read_field(struct mm_struct, (__u64)mm, mm_mt.ma_root);

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

static __always_inline void note_missed(struct unwind_walk *w, const struct unwind_mapping *m, const struct unwind_file *file)
{
	struct missed_mapping *known = bpf_map_lookup_elem(&unwind_missed, file), new = {};

	if (known) {
		__sync_fetch_and_add(&known->count, 1);
		return;
	}
	new.start = m->start;
	new.end = m->end;
	new.pid = w->pid;
	new.count = 1;
	bpf_map_update_elem(&unwind_missed, file, &new, BPF_ANY);
	wake_user_space(&unwind_wakeups);
}

static __always_inline void use_table(struct unwind_walk *w, struct unwind_mapping *m, const struct unwind_file *file)
{
	struct unwind_table *t = bpf_map_lookup_elem(&unwind_files, file);

	if (!t) {
		m->lacks_table = 1;
		note_missed(w, m, file);
		return;
	}
	if (t->used != generation)
		t->used = generation;
	m->table = *t;
	m->lacks_table = t->unreadable;
}

/* Makes a mapping of the process the walk's current one. Returns false if it has no code. */
static __always_inline bool set_mapping(struct unwind_walk *w, struct vm_area_struct *area, __u64 vdso)
{
	struct unwind_mapping *m = mapping_of(w);
	struct unwind_file file = {};
	struct inode *inode;
	struct file *f;

	if (!(BPF_CORE_READ(area, vm_flags) & VM_EXEC))
		return false;
	m->start = BPF_CORE_READ(area, vm_start);
	m->end = BPF_CORE_READ(area, vm_end);
	f = BPF_CORE_READ(area, vm_file);
	if (f) {
		inode = BPF_CORE_READ(f, f_inode);
		file.inode = BPF_CORE_READ(inode, i_ino);
		file.device = BPF_CORE_READ(inode, i_sb, s_dev);
		file.changed = ctime_ns(inode);
		m->to_offset = BPF_CORE_READ(area, vm_pgoff) * 4096 - m->start;
		use_table(w, m, &file);
	} else if (m->start == vdso) {
		file.device = VDSO_DEVICE;
		m->to_offset = -m->start;
		use_table(w, m, &file);
	}
	return true;
}

/* Replaces the oldest of the mappings that the walk has looked up. */
static __always_inline struct unwind_mapping *replace_mapping(struct unwind_walk *w)
{
	struct unwind_mapping *m;

	w->mapping = bounded(mappings_of(w)->next++, UNWIND_MAPPINGS);
	m = mapping_of(w);
	m->start = m->end = m->to_offset = m->lacks_table = 0;
	m->table.pages = m->table.python = m->table.python_tasks = 0;
	w->looked_up++;
	return m;
}

/* The mapping with the address, of those that were looked up before; UNWIND_MAPPINGS: none. Without a branch. User addresses have 56 bits. */
static __always_inline __u32 known_mapping(const struct unwind_mappings *of, __u64 address)
{
	__u32 found = UNWIND_MAPPINGS;

#pragma unroll
	for (__u32 i = 0; i < UNWIND_MAPPINGS; i++) {
		__u64 from_start = address - of->all[i].start, from_end = address - of->all[i].end;
		__u32 inside = (from_end & ~from_start) >> 63;

		found ^= (found ^ i) & -inside;
	}
	return found;
}

/* Makes one of those that were looked up before the walk's current one. Returns false if none has the address. */
static __always_inline bool enter_known_mapping(struct unwind_walk *w, __u64 address)
{
	__u32 known = known_mapping(mappings_of(w), address);

	if (known >= UNWIND_MAPPINGS)
		return false;
	w->mapping = known;
	return true;
}

/* Makes the running process's mapping with the address the walk's current one. Returns false if no code is there. */
__noinline bool enter_mapping(struct unwind_walk *w, __u64 address)
{
	struct mm_struct *mm = BPF_CORE_READ(bpf_get_current_task_btf(), mm);
	struct vm_area_struct *area;

	if (!w)
		return false;
	if (enter_known_mapping(w, address))
		return true;
	replace_mapping(w);
	area = (struct vm_area_struct *)find_mapping(address);
	if (!area || !mm || address < BPF_CORE_READ(area, vm_start) || address >= BPF_CORE_READ(area, vm_end))
		return false;
	return set_mapping(w, area, (__u64)BPF_CORE_READ(mm, context.vdso));
}

static __always_inline void start_mappings(struct unwind_walk *w, __u64 version)
{
	struct unwind_mappings *of;

	w->slot = bounded(version, UNWIND_PROCESSES);
	if (mappings_of(w)->version != version)
		w->slot ^= 1;
	of = mappings_of(w);
	if (of->version == version)
		return;
	/* Both slots are tried in turns, so that of two processes with the same first slot each gets one. */
	w->slot ^= w->walks++ & 1;
	of = mappings_of(w);
	__builtin_memset(of, 0, sizeof(*of));
	of->version = version;
}

struct mm_struct___counted { /* 6.4 to 6.12 */
	int mm_lock_seq;
};

struct mm_struct___seqcount { /* since 6.13 */
	struct {
		unsigned sequence;
	} mm_lock_seq;
};

/* Whether the kernel counts changes of mappings. */
static __always_inline bool has_version(void)
{
	return bpf_core_field_exists(((struct mm_struct___seqcount *)0)->mm_lock_seq.sequence) ||
	       bpf_core_field_exists(((struct mm_struct___counted *)0)->mm_lock_seq);
}

/*
 * A number that changes with the process, its mappings and the tables. The kernel counts changes of mappings if it is built with
 * locks for each of them (CONFIG_PER_VMA_LOCK, since 6.4); else each walk has another number.
 */
static __always_inline __u64 version_of_mappings(struct unwind_walk *w, struct task_struct *task)
{
	__u64 version = (__u64)unwind_version << 32 ^ mix_fast(generation);
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	if (bpf_core_field_exists(((struct mm_struct___seqcount *)0)->mm_lock_seq.sequence))
		return mix64(user_seed(task) ^ version ^ BPF_CORE_READ((struct mm_struct___seqcount *)mm, mm_lock_seq.sequence));
	if (bpf_core_field_exists(((struct mm_struct___counted *)0)->mm_lock_seq))
		return mix64(user_seed(task) ^ version ^ (__u32)BPF_CORE_READ((struct mm_struct___counted *)mm, mm_lock_seq));
	return mix64(++w->walks);
}

#endif
