/* Writes a variable as often as its argument says, and prints how many seconds that took. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

volatile int value;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	int writes = argc > 1 ? atoi(argv[1]) : 1;
	double start = now();

	for (int i = 0; i < writes; i++)
		value = i;
	printf("%.9f\n", now() - start);
	return 0;
}
