/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Reading the kernel's memory.
 */
#ifndef WPROF_READ_H
#define WPROF_READ_H

extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak; /* since 6.2 */

/* A plain load where the kernel allows it at any address: calling the helper takes ten times as long. The first member of struct pt_regs is a word. */
static __always_inline __u64 read_kernel_word(__u64 at)
{
	__u64 word = 0;

	if (bpf_rdonly_cast)
		return *(__u64 *)bpf_rdonly_cast((void *)at, bpf_core_type_id_kernel(struct pt_regs));
	bpf_probe_read_kernel(&word, sizeof(word), (void *)at);
	return word;
}

/* A few words at any address. Returns false if they cannot be read; plain loads of what cannot be read give 0. */
static __always_inline bool read_words(__u64 *to, __u64 at, __u32 count)
{
	if (bpf_rdonly_cast) {
#pragma unroll
		for (__u32 i = 0; i < count; i++)
			to[i] = read_kernel_word(at + 8 * i);
	} else if (bpf_probe_read_kernel(to, count * sizeof(*to), (void *)at)) {
		__builtin_memset(to, 0, count * sizeof(*to));
		return false;
	}
	return true;
}

/* A field of 8 bytes of a structure at an address. */
#define read_field(type, at, field) read_kernel_word((at) + bpf_core_field_offset(type, field))

/* An argument of a tracepoint as a number: the verifier allows no arithmetic with pointers. */
static __always_inline __u64 argument_word(unsigned long long *ctx, __u32 index)
{
	return read_kernel_word((__u64)(ctx + index));
}

#endif
