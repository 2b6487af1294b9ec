/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Frequencies and idle states of CPUs.
 */
#ifndef WPROF_POWER_H
#define WPROF_POWER_H

static __always_inline int write_power(__u32 type, __u64 value, __u32 cpu)
{
	__u64 *values;

	if (!armed || !within_limit(type))
		return 0;
	values = reserve_typed(type, 0, 1);
	if (!values)
		return 0;
	((struct rec_typed *)values - 1)->hdr.cpu = cpu;
	values[0] = value;
	submit_typed(values, 1);
	return 0;
}

SEC("tp_btf/cpu_frequency")
int BPF_PROG(cpu_frequency, unsigned int khz, unsigned int cpu)
{
	return write_power(TYPE_FREQUENCY, khz, cpu);
}

/* The state is -1 when the CPU is no longer idle. */
SEC("tp_btf/cpu_idle")
int BPF_PROG(cpu_idle, unsigned int state, unsigned int cpu)
{
	return write_power(TYPE_IDLE, (__s64)(__s32)state, cpu);
}

#endif
