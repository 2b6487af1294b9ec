/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Finds calls of the interpreter's loop among native frames by what the loop keeps in its own: the frame that ends what the call executes, which is
 * none of Python's. Where each instruction is a function that the one before calls as its last act, the compiler puts the loop into its callers, so that
 * no address shows it. The function of the instruction is then the next frame inside the one that has the loop.
 */
#ifndef WPROF_CALLPYTHON_H
#define WPROF_CALLPYTHON_H

_Static_assert(TABLE_FRAMES + 1 == 512 && PYTHON_CALLS <= 512, "steps of a search");

/* The frame that has an address of the stack in it; count if none has. Without branches, for the verifier. */
static __always_inline __u32 frame_with(const struct unwind_walk *w, __u32 count, __u64 at)
{
	__u32 found = 0;

#pragma unroll
	for (__u32 step = 256; step; step >>= 1) {
		__u32 next = found + step;
		__u64 is_below = (w->sps[bounded(next, TABLE_FRAMES + 1)] - at - 1) & ((__u64)next - count);

		found += step & -(__u32)(is_below >> 63);
		barrier_var(found);
	}
	if (found + 1 >= count || w->sps[bounded(found, TABLE_FRAMES + 1)] > at || w->sps[bounded(found + 1, TABLE_FRAMES + 1)] <= at)
		return count;
	return found;
}

#define PYTHON_LOOP (1ULL << PYTHON_LOOP_SHIFT)
#define PYTHON_INSTRUCTION (1ULL << PYTHON_INSTRUCTION_SHIFT)
#define PYTHON_MARKS (PYTHON_LOOP | PYTHON_INSTRUCTION)

/*
 * Marks what stands for a call of the loop: the loop's own frame, where it has one, and then the instruction's as a part of it, else that alone. What the
 * process says of its frames may be wrong.
 */
static __always_inline void mark_call(struct python_stack *st, __u32 call, const struct unwind_walk *w, __u64 *addrs, __u32 first, __u32 count, const __u32 words)
{
	__u32 frame = frame_with(w, count, st->shims[bounded(call, PYTHON_CALLS)]);
	__u64 mark = PYTHON_LOOP;

	if (frame >= count)
		return;
	if (addrs[bounded(first + frame, words)] & PYTHON_LOOP)
		mark = PYTHON_INSTRUCTION;
	if (frame && !(addrs[bounded(first + frame - 1, words)] & PYTHON_MARKS))
		frame--;
	if (!(addrs[bounded(first + frame, words)] & PYTHON_MARKS))
		addrs[bounded(first + frame, words)] |= mark;
}

struct call_context {
	struct scratch *s;
	struct python_stack *st;
};

static long mark_next_call(__u32 call, struct call_context *ctx)
{
	struct scratch *s = ctx->s;

	if (!s || !ctx->st)
		return 1;
	mark_call(ctx->st, call, &s->walk, s->addrs, 0, s->count, TABLE_FRAMES + 1);
	return 0;
}

/* Marks those of a thread whose user stack is in the scratch buffer. */
static __always_inline void mark_calls(struct scratch *s, struct python_stack *st)
{
	struct call_context ctx = {s, st};

	if (st->calls)
		bpf_loop(bounded(st->calls, PYTHON_CALLS), mark_next_call, &ctx, 0);
}

#endif
