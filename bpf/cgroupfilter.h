/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Whether a thread's cgroup passes the filter: its path is compared with patterns once, and the result is kept by the cgroup's id, so
 * that a switch pays for a lookup only, as for a name; where hierarchies of v1 are mounted, and the thread is in the root of the
 * unified one, 150 ns more, to find its cgroup. A cgroup that is made while the recording runs is compared when it is made, before any
 * thread can be in it; others when their first thread is seen, which is in the list of threads before the window opens.
 *
 * Worst case: two cgroups of one index replace each other's result, and are compared again each time, some microseconds for a few
 * patterns; GLOB_STEPS bound it to about a millisecond.
 */
#ifndef WPROF_CGROUPFILTER_H
#define WPROF_CGROUPFILTER_H

#define CGROUP_GLOB 256	      /* bytes, with a 0 */
#define CGROUP_GLOBS_MAX 256  /* 64 KiB, of which only those that are there are allocated */
#define CGROUP_VERDICTS 4096  /* 32 KiB */
#define GLOB_STEPS (1 << 17)  /* of all comparisons of a path; what takes longer does not match */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, CGROUP_GLOB);
} cgroup_globs SEC(".maps");

/* The id of the cgroup that was last compared with this index, shifted, and whether it passes: one word, so that it is never torn. */
volatile __u64 cgroup_verdicts[CGROUP_VERDICTS];

struct glob_walk {
	struct cgroup_scratch *scratch;
	const char *glob;
};

/* One step of container.Match(). */
static long glob_step(__u32 i, struct glob_walk *w)
{
	struct cgroup_scratch *s = w->scratch;
	__u32 p = s->match.path, g = s->match.glob;
	char c = s->path[bounded(p, CGROUP_PATH)], k = w->glob[bounded(g, CGROUP_GLOB)];

	if (!s->match.steps)
		return 1;
	s->match.steps--;
	if (k == '*') {
		s->match.glob = s->match.star = g + 1;
		s->match.mark = p;
		return 0;
	}
	if (!k && (!c || c == '/')) {
		s->match.found = 1;
		return 1;
	}
	if (c && (k == c || (k == '?' && c != '/'))) {
		s->match.path = p + 1;
		s->match.glob = g + 1;
		return 0;
	}
	if (!s->match.star || !s->path[bounded(s->match.mark, CGROUP_PATH)])
		return 1;
	s->match.mark++;
	s->match.path = s->match.mark;
	s->match.glob = s->match.star;
	return 0;
}

/* Compares with the next pattern of a list. */
static long try_glob(__u32 i, struct glob_walk *w)
{
	struct cgroup_scratch *s = w->scratch;
	__u32 key = s->match.next;
	struct glob_walk one = {.scratch = s};

	s->match.next = key + 1;
	one.glob = bpf_map_lookup_elem(&cgroup_globs, &key);
	if (!one.glob)
		return 1;
	s->match.path = s->match.glob = s->match.star = s->match.mark = 0;
	bpf_loop(GLOB_STEPS, glob_step, &one, 0);
	return *(volatile __u32 *)&s->match.found & 1; /* the verifier wants to see that it is 0 or 1 */
}

/* Whether the path in the buffer matches a pattern of a list. */
static __always_inline bool in_globs(struct cgroup_scratch *s, enum glob_list list)
{
	struct glob_walk w = {.scratch = s};
	__u32 count = filter.globs_end[list] - filter.globs_begin[list];

	if (!count)
		return false;
	s->match.next = filter.globs_begin[list];
	s->match.found = 0;
	bpf_loop(count, try_glob, &w, 0);
	return *(volatile __u32 *)&s->match.found;
}

static __always_inline bool globs_pass(struct cgroup_scratch *s, enum glob_list keep, enum glob_list drop)
{
	if (filter.globs_end[keep] != filter.globs_begin[keep] && !in_globs(s, keep))
		return false;
	return !in_globs(s, drop);
}

/* A global function is verified once, not for every program that asks. */
__noinline int judge_cgroup(__u64 id, __u64 node)
{
	struct cgroup_scratch *s = get_cgroup_scratch();
	bool passes;

	if (!s)
		return 0;
	read_cgroup_path(s, node);
	s->match.steps = GLOB_STEPS;
	passes = globs_pass(s, CGROUPS, NO_CGROUPS) && globs_pass(s, CONTAINERS, NO_CONTAINERS);
	put_cgroup_scratch(s);
	cgroup_verdicts[bounded(mix64(id), CGROUP_VERDICTS)] = id << 1 | passes;
	return passes;
}

static __always_inline bool verdict_of(struct cgroup *cgroup)
{
	__u64 id = cgroup_id(cgroup), verdict = cgroup_verdicts[bounded(mix64(id), CGROUP_VERDICTS)];

	if (verdict >> 1 == id)
		return verdict & 1;
	return judge_cgroup(id, node_of(cgroup));
}

static __always_inline bool cgroup_passes(struct task_struct *task)
{
	if (!filter.on_cgroup)
		return true;
	return cgroups_enabled && verdict_of(cgroup_of(task));
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(cgroup_mkdir, struct cgroup *cgroup, const char *path)
{
	if (filter.on_cgroup && cgroups_enabled)
		verdict_of(cgroup);
	return 0;
}

#endif
