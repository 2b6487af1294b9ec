// Two threads change the mappings of their process: one for long, every 70 ms, the other one often. Prints the second one's tid
// and its longest call, ns, after 2 seconds.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int done;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static long map(size_t bytes, int flags)
{
	long from = now(), longest;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	longest = now() - from;
	from = now();
	munmap(at, bytes);
	from = now() - from;
	return from > longest ? from : longest;
}

static void *often(void *unused)
{
	long longest = 0, ns;

	while (!done) {
		ns = map(4096, 0);
		if (ns > longest)
			longest = ns;
		usleep(1000);
	}
	printf("%ld %ld\n", syscall(SYS_gettid), longest);
	return NULL;
}

int main(void)
{
	long end = now() + 2000000000L;
	pthread_t thread;

	pthread_create(&thread, NULL, often, NULL);
	while (now() < end) {
		map(64 << 20, MAP_POPULATE);
		usleep(70000);
	}
	done = 1;
	pthread_join(thread, NULL);
}
