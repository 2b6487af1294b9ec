/* SPDX-License-Identifier: Apache-2.0 */
/* What both agents need: the kernel's numbers, the clock and the CPU. */
#ifndef WPROF_PYTRACE_COMMON_H
#define WPROF_PYTRACE_COMMON_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef long s64;

#define SYS_munmap 11
#define SYS_sched_yield 24
#define SYS_getpid 39
#define SYS_gettid 186
#define SYS_tgkill 234
#define ESRCH 3
#define CLOCK_MONOTONIC 1
#define CPU_SELECTOR 0x7b /* of the segment whose limit has the number of the CPU, as getcpu(2) reads it */
#define CPU_MASK 0xfff

static inline long syscall3(long number, long a, long b, long c)
{
	long result;

	asm volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}

static inline u64 word(u64 at)
{
	return *(u64 *)at;
}

/* CLOCK_MONOTONIC in ns, by the address of the vdso's clock_gettime(). */
static inline u64 monotonic(u64 clock_gettime)
{
	struct { s64 seconds, ns; } t = {0, 0};

	((int (*)(int, void *))clock_gettime)(CLOCK_MONOTONIC, &t);
	return t.seconds * 1000000000ul + t.ns;
}

/* The time stamp counter. Nothing waits for the instructions before it: a call lasts longer than what the CPU has in flight. */
static inline u64 tsc(void)
{
	u32 low, high;

	asm volatile("rdtsc" : "=a"(low), "=d"(high));
	return (u64)high << 32 | low;
}

static inline u16 cpu_by_rdpid(void)
{
	u64 number;

	asm volatile("rdpid %0" : "=r"(number));
	return number & CPU_MASK;
}

static inline u16 cpu(void)
{
	u32 limit = 0;

	asm volatile("lsl %1, %0" : "=r"(limit) : "r"(CPU_SELECTOR));
	return limit & CPU_MASK;
}

#endif
