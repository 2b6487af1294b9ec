/* Spends 20 ms of CPU time in its own functions and in those of libc, and ends. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char text[1 << 16];

static long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

__attribute__((noinline)) static void scramble(unsigned int seed)
{
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (seed = seed * 1103515245 + 12345) >> 16;
}

__attribute__((noinline)) static void sort(void)
{
	qsort(text, sizeof(text) / 16, 1, by_value);
}

int main(void)
{
	for (unsigned int i = 0; cpu_ns() < 20000000; i++) {
		scramble(i);
		sort();
	}
	return 0;
}
