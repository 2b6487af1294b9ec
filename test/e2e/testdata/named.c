/* For each line of input, two threads with a name of their own, on a CPU of their own, call step() 100 times each. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct of {
	const char *name;
	int cpu;
};

__attribute__((noinline)) void step(int n)
{
	asm volatile("" : : "r"(n) : "memory");
}

static void *run(void *arg)
{
	struct of *of = arg;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(of->cpu, &cpus);
	if (pthread_setname_np(pthread_self(), of->name) || sched_setaffinity(0, sizeof(cpus), &cpus))
		exit(1);
	printf("%s %ld\n", of->name, syscall(SYS_gettid));
	for (int n = 0; n < 100; n++)
		step(n);
	return NULL;
}

int main(void)
{
	int last = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	struct of of[] = { { "x1", 0 }, { "y2", last } };

	while (getchar() != EOF) {
		for (int i = 0; i < 2; i++) {
			pthread_t thread;

			if (pthread_create(&thread, NULL, run, &of[i]))
				return 1;
			pthread_join(thread, NULL);
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}
