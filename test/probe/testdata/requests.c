/*
 * Answers requests, of which a few are slow: they sleep. Prints the number of each slow one.
 *
 *   requests COUNT EVERY
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void pause_for(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

__attribute__((noinline)) void request(int number, int slow)
{
	long until = nanoseconds() + 100000;

	if (slow)
		pause_for(60000000);
	while (nanoseconds() < until)
		;
	__asm__ volatile("" : : "r"(number) : "memory");
}

__attribute__((noinline)) void session(int count, int every)
{
	for (int i = 0; i < count; i++) {
		int slow = i % every == every / 2;

		if (slow)
			printf("slow=%d\n", i);
		request(i, slow);
		pause_for(2000000);
	}
	__asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	pause_for(50000000);
	session(atoi(argv[1]), atoi(argv[2]));
	pause_for(50000000);
	return 0;
}
