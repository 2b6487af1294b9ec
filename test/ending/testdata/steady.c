// steady: runs one function again and again, for a millisecond in two.
#define _GNU_SOURCE
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

__attribute__((noinline)) void steady_function(void)
{
	for (long long end = now() + 1000000; now() < end;)
		;
}

int main(void)
{
	for (;; usleep(1000))
		steady_function();
}
