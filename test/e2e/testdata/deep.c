/* Sleeps and computes forty calls deep. */
#include <time.h>

static volatile int sum;

__attribute__((noinline)) static int deep(int calls)
{
	if (calls) {
		sum += deep(calls - 1);
		return sum;
	}
	for (int i = 0; i < 100; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
		for (int k = 0; k < 1000000; k++)
			sum++;
	}
	return sum;
}

int main(void)
{
	return deep(40) & 1;
}
