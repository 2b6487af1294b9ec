/*
 * Spins 5 ms of its own CPU time in hot(). Every build has another amount of code before hot(), so that the symbols of
 * one build give wrong names in another one.
 */
#include <time.h>

#define TEXT(x) #x
#define SKIP(n) __asm__(".text\n.type before_hot, @function\nbefore_hot:\n.skip 16 + 16 * " TEXT(n) ", 0x90\nret\n.size before_hot, . - before_hot\n")
SKIP(PAD);

static long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

__attribute__((noinline)) void hot(void)
{
	for (long end = cpu_ns() + 5000000; cpu_ns() < end;)
		for (int i = 0; i < 200000; i++)
			__asm__ volatile("" : "+r"(i));
}

int main(void)
{
	hot();
	return 0;
}
