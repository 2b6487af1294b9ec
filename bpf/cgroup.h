/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Cgroups of threads: their ids, and their paths, which are written once a generation where a thread is identified: in the list
 * of tasks, at forks and at moves. No event pays for them, unless a filter compares paths: see cgroupfilter.h.
 *
 * A thread is in one cgroup of each hierarchy. Where the unified one (v2) is not used, everything is in its root: then the
 * hierarchies of v1 that the loader found count, the first one in which the thread is not in the root.
 *
 * Cannot see: that a cgroup of v1 is renamed, within the generation.
 */
#ifndef WPROF_CGROUP_H
#define WPROF_CGROUP_H

const volatile bool cgroups_enabled;
const volatile __u32 cgroup_v1[2]; /* hierarchy ids: of the one named systemd, of the cpu controller; 0: there is none */

#define CGROUP_HIERARCHIES 32 /* one a controller, and named ones */
#define CGROUP_LEVELS 64      /* of a deeper cgroup, the path begins with these innermost names */
#define CGROUP_PATH 4096      /* a power of two */
#define CGROUP_NAME 256	      /* NAME_MAX and a 0 */
#define WRITTEN_CGROUPS 4096  /* 32 KiB */

struct cgroup_scratch {
	__u64 taken;
	/* From here on as struct rec_cgroup. */
	struct rec_hdr hdr;
	__u64 id;
	char path[CGROUP_PATH + CGROUP_NAME];
	__u64 nodes[CGROUP_LEVELS]; /* struct kernfs_node, innermost first */
	__u64 node; /* to be noted next */
	__u32 depth; /* nodes that were noted */
	__u32 length; /* of path */
	struct {
		__u32 path, glob;     /* how much of each has matched */
		__u32 star, mark;     /* after the last *, and how much of the path it has taken */
		__u32 next;	      /* pattern */
		__u32 steps, found;
	} match; /* see cgroupfilter.h */
};

_Static_assert(__builtin_offsetof(struct cgroup_scratch, path) - __builtin_offsetof(struct cgroup_scratch, hdr) == sizeof(struct rec_cgroup),
	       "a scratch buffer holds a record");

/* 4,944 bytes a CPU and level. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NESTING_LEVELS);
	__type(key, __u32);
	__type(value, struct cgroup_scratch);
} cgroup_scratch SEC(".maps");

/* As written_stacks: two cgroups of one index replace each other's mark, and are written once more. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WRITTEN_CGROUPS);
	__type(key, __u32);
	__type(value, __u64);
} written_cgroups SEC(".maps");

static __always_inline struct cgroup_scratch *get_cgroup_scratch(void)
{
#pragma unroll
	for (__u32 level = 0; level < NESTING_LEVELS; level++) {
		__u32 key = level;
		struct cgroup_scratch *s = bpf_map_lookup_elem(&cgroup_scratch, &key);

		if (s && !__sync_lock_test_and_set(&s->taken, 1))
			return s;
	}
	return NULL;
}

static __always_inline void put_cgroup_scratch(struct cgroup_scratch *s)
{
	barrier();
	*(volatile __u64 *)&s->taken = 0;
}

#define READ_POINTER(from, field) read_kernel_word((__u64)&(from)->field)

static __always_inline __u32 hierarchy_of(struct cgroup *cgroup)
{
	struct cgroup_root *root = (struct cgroup_root *)READ_POINTER(cgroup, root);

	return READ_POINTER(root, hierarchy_id);
}

/*
 * The thread's cgroup in a hierarchy of v1, unless that is the root: the last one of cgroup_v1 comes second. The links of a set of
 * cgroups never change while a thread is in it, but for hierarchies that are mounted or unmounted.
 */
struct v1_search {
	__u64 head, at; /* of the list of links */
	__u64 found;
};

static long search_v1(__u32 index, struct v1_search *s)
{
	struct cgrp_cset_link *link = (void *)s->at - bpf_core_field_offset(struct cgrp_cset_link, cgrp_link);
	struct cgroup *cgroup;
	__u32 hierarchy;

	if (!s->at || s->at == s->head)
		return 1;
	cgroup = (struct cgroup *)READ_POINTER(link, cgrp);
	hierarchy = hierarchy_of(cgroup);
	if (hierarchy && (hierarchy == cgroup_v1[0] || hierarchy == cgroup_v1[1])) {
		if ((__u32)READ_POINTER(cgroup, level)) {
			s->found = (__u64)cgroup;
			if (hierarchy == cgroup_v1[0])
				return 1;
		}
	}
	s->at = READ_POINTER(link, cgrp_link.next);
	return 0;
}

/* By bpf_loop(), which the verifier goes through once: as a loop it took 30 ms of CPU time in each of four programs. */
static __noinline __u64 cgroup_in_v1(__u64 set)
{
	struct v1_search s = {.head = set + bpf_core_field_offset(struct css_set, cgrp_links)};

	s.at = read_kernel_word(s.head);
	bpf_loop(CGROUP_HIERARCHIES, search_v1, &s, 0);
	return s.found;
}

static __always_inline struct cgroup *cgroup_of(struct task_struct *task)
{
	struct css_set *set = task->cgroups;
	struct cgroup *unified = set->dfl_cgrp;
	__u64 v1;

	if (!(cgroup_v1[0] | cgroup_v1[1]) || unified->level)
		return unified;
	v1 = cgroup_in_v1((__u64)set);
	return v1 ? (struct cgroup *)v1 : unified;
}

/*
 * Ids are unique in a hierarchy; no thread is in a v1 hierarchy's root here, so the unified one's root is the only one. The upper half of the
 * kernel's id counts how often the lower half was used, to 32,768 here.
 */
#define CGROUP_HIERARCHY_SHIFT 47

static __always_inline __u64 node_of(struct cgroup *cgroup) { return READ_POINTER(cgroup, kn); }

static __always_inline __u64 cgroup_id(struct cgroup *cgroup)
{
	struct kernfs_node *node = (struct kernfs_node *)node_of(cgroup);
	__u64 id = READ_POINTER(node, id) & ((1ULL << CGROUP_HIERARCHY_SHIFT) - 1);

	return id | (__u64)(hierarchy_of(cgroup) & 0x7fff) << CGROUP_HIERARCHY_SHIFT;
}

static __always_inline __u64 parent_of(__u64 node)
{
	struct kernfs_node *kn = (struct kernfs_node *)node;

	if (bpf_core_field_exists(kn->__parent))
		return READ_POINTER(kn, __parent);
	return READ_POINTER(kn, parent);
}

/* Only a pointer can be passed on: the rest is in the buffer, where the verifier takes it for unknown. */
struct cgroup_walk {
	struct cgroup_scratch *scratch;
};

static long note_node(__u32 level, struct cgroup_walk *w)
{
	struct cgroup_scratch *s = w->scratch;
	__u64 parent = parent_of(s->node);

	if (!parent)
		return 1;
	s->nodes[bounded(level, CGROUP_LEVELS)] = s->node;
	s->node = parent;
	s->depth = level + 1;
	return 0;
}

static long append_name(__u32 i, struct cgroup_walk *w)
{
	struct cgroup_scratch *s = w->scratch;
	__u32 at = s->length, depth = s->depth;
	struct kernfs_node *node;
	long length;

	if (i >= depth || at >= CGROUP_PATH - 1)
		return 1;
	node = (struct kernfs_node *)s->nodes[bounded(depth - 1 - i, CGROUP_LEVELS)];
	s->path[bounded(at, CGROUP_PATH)] = '/';
	at++;
	length = bpf_probe_read_kernel_str(&s->path[bounded(at, CGROUP_PATH)], CGROUP_NAME, (void *)READ_POINTER(node, name));
	if (length > 0)
		at += length - 1;
	s->length = at < CGROUP_PATH - 1 ? at : CGROUP_PATH - 1;
	return 0;
}

/*
 * Writes the path of a kernfs_node to the buffer, with a 0 after it, cut after CGROUP_PATH - 1 bytes. A global function is verified once,
 * not for every program.
 */
__noinline int read_cgroup_path(struct cgroup_scratch *s, __u64 node)
{
	struct cgroup_walk w = {.scratch = s};

	if (!s)
		return 0;
	s->node = node;
	s->depth = s->length = 0;
	s->path[0] = '/';
	bpf_loop(CGROUP_LEVELS, note_node, &w, 0);
	bpf_loop(CGROUP_LEVELS, append_name, &w, 0);
	if (!*(volatile __u32 *)&s->length)
		s->length = 1;
	s->path[bounded(s->length, CGROUP_PATH)] = 0;
	return 0;
}

/* Writes the definition of a cgroup, or counts its loss. */
static __noinline void write_cgroup(struct cgroup_scratch *s, __u64 id, __u64 node)
{
	__u32 cpu = bpf_get_smp_processor_id(), size;
	struct rec_cgroup *rec;

	read_cgroup_path(s, node);
	size = sizeof(struct rec_cgroup) + bounded(s->length, CGROUP_PATH);
	rec = claim_here(cpu, size);
	if (!rec) {
		count_loss(cpu, LOST_DEFINITION);
		return;
	}
	s->hdr.ts = bpf_ktime_get_ns();
	*(__u64 *)&s->hdr.kind = REC_CGROUP | (__u64)cpu << 16;
	s->id = id;
	bpf_probe_read_kernel(rec, size, &s->hdr);
	submit(rec, size);
}

/*
 * The id of a thread's cgroup, 0 if the kernel has none, whose path is written first unless that was done in this generation. One for
 * which there was no room is written in the next generation, which begins with a list of all threads then.
 */
static __noinline __u64 intern_cgroup(struct task_struct *task)
{
	struct cgroup_scratch *s;
	struct cgroup *cgroup;
	__u64 id, value, *mark;
	__u32 index;

	if (!cgroups_enabled)
		return 0;
	cgroup = cgroup_of(task);
	id = cgroup_id(cgroup);
	value = id ^ generation * MIX_A;
	index = mix64(id) & (WRITTEN_CGROUPS - 1);
	mark = bpf_map_lookup_elem(&written_cgroups, &index);
	if (!armed || !mark || *mark == value)
		return id;
	s = get_cgroup_scratch();
	if (!s)
		return id;
	write_cgroup(s, id, node_of(cgroup));
	*mark = value;
	put_cgroup_scratch(s);
	return id;
}

/*
 * Moves of threads to another cgroup, once they are done: of one thread, or of all threads of its process, which is what writing to
 * cgroup.procs does. A move waits for locks that all cgroups share.
 */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(cgroup_attach_task, struct cgroup *to, const char *path, struct task_struct *task, bool whole)
{
	struct rec_move *rec;
	__u64 id;

	if (!armed)
		return 0;
	id = intern_cgroup(task);
	rec = reserve(REC_MOVE, whole ? REC_LAST : 0, task->pid, sizeof(*rec));
	if (!rec)
		return 0;
	rec->start_ns = task->start_time;
	rec->cgroup = id;
	rec->pid = task->tgid;
	rec->pad = 0;
	submit(rec, sizeof(*rec));
	return 0;
}

#endif
