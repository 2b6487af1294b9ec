// Spends its time in many functions, a random one at a time, from several callers: so that samplers can be compared with
// each other. Each call takes some 20 to 200 microseconds, so that samples are independent of each other.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static __thread uint64_t seed;

static uint32_t chance(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 20) % below;
}

#define FUNCTION(name)                                                              \
	__attribute__((noinline)) void name(uint32_t rounds)                        \
	{                                                                           \
		for (volatile uint32_t i = 0; i < rounds; i++)                      \
			;                                                           \
	}

FUNCTION(work00)
FUNCTION(work01)
FUNCTION(work02)
FUNCTION(work03)
FUNCTION(work04)
FUNCTION(work05)
FUNCTION(work06)
FUNCTION(work07)
FUNCTION(work08)
FUNCTION(work09)
FUNCTION(work10)
FUNCTION(work11)
FUNCTION(work12)
FUNCTION(work13)
FUNCTION(work14)
FUNCTION(work15)
FUNCTION(work16)
FUNCTION(work17)
FUNCTION(work18)
FUNCTION(work19)
FUNCTION(work20)
FUNCTION(work21)
FUNCTION(work22)
FUNCTION(work23)

static void (*const functions[])(uint32_t) = {
	work00, work01, work02, work03, work04, work05, work06, work07,
	work08, work09, work10, work11, work12, work13, work14, work15,
	work16, work17, work18, work19, work20, work21, work22, work23,
};
#define COUNT (sizeof(functions) / sizeof(functions[0]))

/* Function n is chosen 1/(n+4) as often as if all were equal. */
static uint32_t choose(void)
{
	for (;;) {
		uint32_t n = chance(COUNT);
		if (chance(n + 4) < 4)
			return n;
	}
}

#define CALLER(name)                                                                \
	__attribute__((noinline)) void name(void)                                   \
	{                                                                           \
		functions[choose()](10000 + chance(90000));                         \
		__asm__ volatile("" ::: "memory"); /* no tail call */               \
	}

CALLER(left)
CALLER(middle)
CALLER(right)

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double until;

static void *run(void *arg)
{
	seed = 88172645463325252ULL + (uintptr_t)arg;
	while (seconds() < until) {
		switch (chance(6)) {
		case 0:
			left();
			break;
		case 1:
		case 2:
			middle();
			break;
		default:
			right();
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	getchar(); /* until all samplers run */
	until = seconds() + (argc > 1 ? atof(argv[1]) : 1);
	pthread_create(&other, NULL, run, (void *)7);
	run(NULL);
	pthread_join(other, NULL);
	puts("done");
	fflush(stdout);
	getchar(); /* until the recorder has ended, which a process that ends would end earlier */
	return 0;
}
