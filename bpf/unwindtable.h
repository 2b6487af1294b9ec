/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Unwind tables, which user space makes of files' call frame information: see internal/unwind.
 *
 * Tables are stored in one array of 32-bit words, in chunks that are allocated when they are needed. Each chunk ends with a
 * copy of the next one's first words, so that what is read from one index on is contiguous.
 */
#ifndef WPROF_UNWINDTABLE_H
#define WPROF_UNWINDTABLE_H

#define UNWIND_CHUNK_SHIFT 18 /* log2 of its words: 1 MiB */
#define UNWIND_CHUNK_WORDS (1 << UNWIND_CHUNK_SHIFT)
#define UNWIND_CHUNK_SLACK 1024 /* words */
#define UNWIND_CHUNKS 4096

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

/* internal/unwind: Base and Saved. */
enum unwind_base { BASE_UNKNOWN, BASE_ROOT, BASE_SP, BASE_FP, BASE_AT_SP, BASE_AT_FP, BASE_PLT, BASE_SIGNAL, BASE_SWITCH, BASE_REGISTER, BASE_IN_REGISTER, BASE_CLONED };
enum unwind_saved { SAVED_KEPT, SAVED_AT_CFA, SAVED_AT_OWN_FP, SAVED_AT_OWN_SP, SAVED_GONE };

struct unwind_rule {
	__s32 offset;
	__s16 fp_offset;
	__s16 add;
	__u8 base;
	__u8 saved;
	__s16 bx_offset; /* 0: rbx is still in the register */
	__u32 pad;
};

#define UNWIND_RULE_WORDS (sizeof(struct unwind_rule) / sizeof(__u32))

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

/* The last of count rows, which are sorted, whose offset in the page is not after the given one. Without a branch. */
static __always_inline __u32 unwind_row(const __u32 *rows, __u32 count, __u32 offset)
{
	__u32 at = 0;

#pragma unroll
	for (int i = 0; i < UNWIND_PAGE_BITS; i++) {
		__u32 half = count >> 1;
		__u64 row = rows[bounded(at + half, UNWIND_CHUNK_SLACK)] & UNWIND_PAGE_MASK;

		at += half & (__u32)((__s64)(row - offset - 1) >> 63);
		count -= half;
	}
	return rows[bounded(at, UNWIND_CHUNK_SLACK)];
}

/* The rule for the code at an offset of the file. */
static __always_inline bool find_rule(const struct unwind_table *t, __u64 offset, struct unwind_rule *rule)
{
	__u32 page = (offset >> UNWIND_PAGE_BITS) - t->first;
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
	first = unwind_row(rows, count, offset & UNWIND_PAGE_MASK) >> UNWIND_PAGE_BITS;
	found = (void *)unwind_words(t->rules_at + first * UNWIND_RULE_WORDS);
	if (!found)
		return false;
	*rule = *found;
	return true;
}

#endif
