/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Whether a thread passes the filter. The filter is read-only data, so that the verifier removes the checks of conditions
 * that were not given; without any filter no code is left.
 *
 * Results for a name are cached by name, not by thread: renames and reused tids then need no handling. A small
 * two-way table costs a few ns, task storage 60 ns and an LRU map 40 ns or more.
 */
#ifndef WPROF_FILTER_H
#define WPROF_FILTER_H

#define FILTER_ENTRIES 64
#define GLOB_LEN 32
#define NAME_CACHE_SIZE 2048
#define FOLLOWED_MAX 65536
#define ANCESTORS_MAX 32

enum id_list { PIDS, NO_PIDS, TIDS, NO_TIDS, ID_LISTS };
enum name_list { NAMES, NO_NAMES, THREAD_NAMES, NO_THREAD_NAMES, NAME_LISTS };

enum glob_list { CGROUPS, NO_CGROUPS, CONTAINERS, NO_CONTAINERS, GLOB_LISTS };

enum children {
	CHILDREN_NONE,
	CHILDREN_MEET_PROCESS, /* descendants meet the process condition */
	CHILDREN_MEET_NAME,    /* ... the condition on the process name */
};

struct filter {
	__u8 any;	 /* there is a filter */
	__u8 on_process; /* there is a process condition: pids, idle, kthread or children */
	__u8 idle;
	__u8 kthread;
	__u8 no_idle;
	__u8 no_kthread;
	__u8 children; /* enum children */
	__u8 on_cgroup; /* there is a condition on cgroups or containers */
	__s32 not_pid; /* the recorder's process; 0: it is kept */
	__u32 id_count[ID_LISTS];
	__u32 name_count[NAME_LISTS];
	__u32 globs_begin[GLOB_LISTS]; /* places of the lists in cgroup_globs */
	__u32 globs_end[GLOB_LISTS];
	__s32 ids[ID_LISTS][FILTER_ENTRIES];	       /* sorted, the rest is INT_MAX */
	char names[NAME_LISTS][FILTER_ENTRIES][GLOB_LEN]; /* the rest is 0 */
};

const volatile struct filter filter;
const volatile bool life_enabled = true; /* -f no-task-life: life records only identify threads */

struct name {
	__u64 lo, hi; /* the 16 bytes of a comm */
};

struct cached_name {
	__u64 lo, hi; /* the name */
	__u64 tag;    /* hash of the name, NAME_CACHE_VALID, and a bit for each name_list that has it */
};

#define NAME_CACHE_LISTS 0xfULL
#define NAME_CACHE_VALID 0x10ULL

struct cached_name name_cache[NAME_CACHE_SIZE];

/*
 * A process id can be reused before sched_process_free reports the end of its process, so the id alone does not identify
 * a process. The start time stays the same when a thread other than the leader calls exec.
 */
struct process_key {
	__u64 start_ns; /* task_struct.start_time of the leader */
	__u64 pid;
};

/* Processes with an ancestor that the filter names. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, FOLLOWED_MAX);
	__type(key, struct process_key);
	__type(value, __u8);
} followed SEC(".maps");

volatile struct process_key awaited; /* a process that is followed from its next exec on; pid 0: none */
__u64 awaited_exec_ns;		     /* when that was */
volatile bool seeding = true;	/* user space is still adding the descendants that existed before the programs were attached */
volatile __u64 follow_failures; /* forks that found the map full */

/*
 * The index modulo size, a power of two. The verifier of 6.1 has no bounds for the result of an or or an exclusive or,
 * so the compiler must keep the mask.
 */
static __always_inline __u32 bounded(__u32 index, __u32 size)
{
	barrier_var(index);
	return index & (size - 1);
}

/* Binary search without a branch: it is inlined, because a call costs as much as the search. */
static __always_inline bool search_ids(enum id_list list, __s32 id)
{
	__u32 at = 0;

#pragma unroll
	for (__u32 step = FILTER_ENTRIES / 2; step; step >>= 1) {
		__s64 ahead = (__s64)filter.ids[list][bounded(at + step, FILTER_ENTRIES)] - id - 1;

		at += step & ahead >> 63;
	}
	return filter.ids[list][bounded(at, FILTER_ENTRIES)] == id;
}

static __always_inline bool id_listed(enum id_list list, __s32 id)
{
	__u32 count = filter.id_count[list];

	if (count == 0)
		return false;
	if (count == 1)
		return filter.ids[list][0] == id;
	return search_ids(list, id);
}

/* A bit for each byte of the name that equals c. */
static __always_inline __u32 bytes_equal(__u64 lo, __u64 hi, __u8 c)
{
	const __u64 low7 = 0x7f7f7f7f7f7f7f7fULL, gather = 0x0102040810204080ULL;
	__u64 all = c * 0x0101010101010101ULL;

	lo ^= all;
	hi ^= all;
	lo = ~(((lo & low7) + low7) | lo | low7) >> 7;
	hi = ~(((hi & low7) + low7) | hi | low7) >> 7;
	return (lo * gather >> 56) | (hi * gather >> 56) << 8;
}

static __always_inline struct cached_name *name_cache_slot(__u64 hash)
{
	return &name_cache[bounded(hash, NAME_CACHE_SIZE)];
}

/* All ones if they are equal, without a branch: the verifier walks a loop with branches many times over. */
static __always_inline __u32 equal_mask(__u32 a, __u32 b)
{
	__u32 differ = a ^ b;

	differ |= -differ;
	barrier_var(differ);
	return (differ >> 31) - 1;
}

/*
 * Bit i of at: the glob up to here matches the first i bytes of the name. So one pass over the glob is enough,
 * without backtracking.
 */
static __always_inline bool match_glob(const volatile char *glob, __u64 lo, __u64 hi)
{
	__u32 zeros = bytes_equal(lo, hi, 0) | 1 << 15;
	__u32 end = zeros & -zeros, inside = end - 1, at = 1;

	for (int i = 0; i < GLOB_LEN; i++) {
		__u8 c = glob[i];
		__u32 star = equal_mask(c, '*'), any = equal_mask(c, '?');

		if (!c)
			break;
		at = (star & -(at & -at) & (inside | end)) | (~star & (at & inside & (any | bytes_equal(lo, hi, c))) << 1);
	}
	return (at & end) != 0;
}

/* A global function is verified once, not for every caller. */
__noinline int glob_matches(__u32 list, __u32 entry, __u64 lo, __u64 hi)
{
	return match_glob(filter.names[0][bounded(list * FILTER_ENTRIES + entry, NAME_LISTS * FILTER_ENTRIES)], lo, hi);
}

__noinline int match_name(__u64 lo, __u64 hi, __u64 hash)
{
	struct cached_name *c;
	__u32 lists = 0;

	for (__u32 list = 0; list < NAME_LISTS; list++)
		for (__u32 i = 0; i < filter.name_count[list] && i < FILTER_ENTRIES; i++)
			if (glob_matches(list, i, lo, hi)) {
				lists |= 1 << list;
				break;
			}
	c = name_cache_slot(hash);
	if (c->tag)
		c = name_cache_slot(hash ^ (bpf_get_prandom_u32() & 1));
	c->tag = 0;
	c->lo = lo;
	c->hi = hi;
	c->tag = (hash & ~(NAME_CACHE_VALID | NAME_CACHE_LISTS)) | NAME_CACHE_VALID | lists;
	return lists;
}

/* The name lists that match, a bit each. An entry that two CPUs write at the same time does not match its hash. */
static __always_inline __u32 matching_lists(const struct name *n)
{
	__u64 hash = n->lo * 0x9e3779b97f4a7c15ULL ^ n->hi * 0xc2b2ae3d27d4eb4fULL;
	const volatile struct cached_name *c;
	__u64 tag;

	hash ^= hash >> 29;
	hash *= 0xbf58476d1ce4e5b9ULL;
	hash ^= hash >> 32;
	c = name_cache_slot(hash);
	tag = c->tag;
	if ((tag | NAME_CACHE_LISTS) == (hash | NAME_CACHE_VALID | NAME_CACHE_LISTS) && c->lo == n->lo && c->hi == n->hi)
		return tag & NAME_CACHE_LISTS;
	c = name_cache_slot(hash ^ 1);
	tag = c->tag;
	if ((tag | NAME_CACHE_LISTS) == (hash | NAME_CACHE_VALID | NAME_CACHE_LISTS) && c->lo == n->lo && c->hi == n->hi)
		return tag & NAME_CACHE_LISTS;
	return match_name(n->lo, n->hi, hash);
}

static __always_inline struct process_key process_of(struct task_struct *task)
{
	return (struct process_key){.start_ns = task->group_leader->start_time, .pid = task->tgid};
}

static __always_inline bool is_followed(struct task_struct *task)
{
	struct process_key key = process_of(task);

	return bpf_map_lookup_elem(&followed, &key) != NULL;
}

static __always_inline bool process_passes(struct task_struct *task)
{
	__s32 tid = task->pid;

	if (!filter.on_process)
		return true;
	if (filter.idle && tid == 0)
		return true;
	if (filter.kthread && (task->flags & PF_KTHREAD) && tid != 0)
		return true;
	if (id_listed(PIDS, task->tgid))
		return true;
	return filter.children == CHILDREN_MEET_PROCESS && is_followed(task);
}

/* comm and leader are only read where a list of names needs them. */
static __always_inline bool names_pass(struct task_struct *task, const struct name *comm, const struct name *leader)
{
	if (filter.name_count[NAMES] || filter.name_count[NO_NAMES]) {
		__u32 lists = matching_lists(leader);

		if (lists & 1 << NO_NAMES)
			return false;
		if (filter.name_count[NAMES] && !(lists & 1 << NAMES) &&
		    !(filter.children == CHILDREN_MEET_NAME && is_followed(task)))
			return false;
	}
	if (filter.name_count[THREAD_NAMES] || filter.name_count[NO_THREAD_NAMES]) {
		__u32 lists = matching_lists(comm);

		if (lists & 1 << NO_THREAD_NAMES)
			return false;
		if (filter.name_count[THREAD_NAMES] && !(lists & 1 << THREAD_NAMES))
			return false;
	}
	return true;
}

static __always_inline bool ids_pass(struct task_struct *task)
{
	__s32 pid = task->tgid, tid = task->pid;

	if (filter.no_idle && tid == 0)
		return false;
	if (filter.no_kthread && (task->flags & PF_KTHREAD) && tid != 0)
		return false;
	if (filter.not_pid && pid == filter.not_pid)
		return false;
	if (id_listed(NO_PIDS, pid) || id_listed(NO_TIDS, tid))
		return false;
	if (filter.id_count[TIDS] && !id_listed(TIDS, tid))
		return false;
	return process_passes(task);
}

static __always_inline void read_name(struct name *n, struct task_struct *task)
{
	n->lo = *(__u64 *)&task->comm[0];
	n->hi = *(__u64 *)&task->comm[8];
}

static __always_inline bool cgroup_passes(struct task_struct *task); /* cgroupfilter.h */

static __always_inline bool passes_filter(struct task_struct *task)
{
	struct name comm = {}, leader = {};

	if (!filter.any)
		return true;
	if (!ids_pass(task) || !cgroup_passes(task))
		return false;
	if (filter.name_count[NAMES] || filter.name_count[NO_NAMES])
		read_name(&leader, task->group_leader);
	if (filter.name_count[THREAD_NAMES] || filter.name_count[NO_THREAD_NAMES])
		read_name(&comm, task);
	return names_pass(task, &comm, &leader);
}

/* The same with the names in a record. */
static __noinline bool ident_passes(const struct rec_ident *ident, struct task_struct *task)
{
	if (!filter.any)
		return true;
	return ids_pass(task) && cgroup_passes(task) && names_pass(task, (const struct name *)ident->comm, (const struct name *)ident->process_comm);
}

static __always_inline bool has_followed_children(struct task_struct *parent)
{
	struct name leader;

	if (is_followed(parent))
		return true;
	if (filter.children == CHILDREN_MEET_PROCESS)
		return id_listed(PIDS, parent->tgid);
	read_name(&leader, parent->group_leader);
	return matching_lists(&leader) & 1 << NAMES;
}

/*
 * A child of a followed process is followed. Until user space has added the processes that existed before,
 * an ancestor may not be in the map yet: then all are looked up.
 */
static __always_inline void follow_child(struct task_struct *parent, struct task_struct *child)
{
	struct process_key key;
	__u8 one = 1;
	bool follow;

	if (filter.children == CHILDREN_NONE || child->pid != child->tgid)
		return;
	follow = has_followed_children(parent);
	if (!follow && seeding)
		for (int i = 0; i < ANCESTORS_MAX && !follow && parent->tgid > 1; i++) {
			parent = parent->real_parent;
			follow = has_followed_children(parent);
		}
	key = process_of(child);
	if (follow && bpf_map_update_elem(&followed, &key, &one, BPF_ANY))
		__sync_fetch_and_add(&follow_failures, 1);
}

/* Each program at execs calls it before it asks whether the process passes the filter. */
static __always_inline void follow_from_exec(struct task_struct *task)
{
	struct process_key key;
	__u8 one = 1;

	if (filter.children != CHILDREN_MEET_PROCESS || (__u32)task->tgid != awaited.pid || awaited_exec_ns)
		return;
	key = process_of(task);
	if (key.start_ns != awaited.start_ns)
		return;
	awaited_exec_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&followed, &key, &one, BPF_ANY))
		__sync_fetch_and_add(&follow_failures, 1);
}

/* Whether it is a thread that the exec has ended: it is freed when its process is followed already. */
static __always_inline bool ended_by_awaited_exec(struct task_struct *task)
{
	return filter.children == CHILDREN_MEET_PROCESS && (__u32)task->tgid == awaited.pid && task->pid != task->tgid &&
	       task->start_time < awaited_exec_ns;
}

static __always_inline void unfollow(struct task_struct *task)
{
	struct process_key key;

	if (filter.children == CHILDREN_NONE || task->pid != task->tgid)
		return;
	key = process_of(task);
	bpf_map_delete_elem(&followed, &key);
}

#endif
