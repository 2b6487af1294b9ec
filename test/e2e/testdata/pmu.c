/* Touches fresh pages in two functions, and reports how many page faults and switches that took, by the kernel's own count. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MANY = 900, FEW = 100, BATCH = 10 };

static struct rusage used(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage;
}

static volatile char *map_pages(int pages)
{
	size_t length = (size_t)pages * getpagesize();
	char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, length, MADV_NOHUGEPAGE);
	return memory;
}

/* The kernel stops sampling for a while if a CPU samples very often. */
static void pause_after(int page)
{
	struct timespec pause = {0, 1000000};

	if (page % BATCH == BATCH - 1)
		nanosleep(&pause, NULL);
}

__attribute__((noinline, noclone)) static long touch_many(volatile char *memory)
{
	struct rusage before = used(), after;

	for (int page = 0; page < MANY; page++) {
		memory[(size_t)page * getpagesize()] = 1;
		pause_after(page);
	}
	after = used();
	return after.ru_minflt - before.ru_minflt;
}

__attribute__((noinline, noclone)) static long touch_few(volatile char *memory)
{
	struct rusage before = used(), after;

	for (int page = 0; page < FEW; page++) {
		memory[(size_t)page * getpagesize()] = 1;
		pause_after(page);
	}
	after = used();
	return after.ru_minflt - before.ru_minflt;
}

int main(void)
{
	volatile char *many_pages = map_pages(MANY), *few_pages = map_pages(FEW);
	long many = touch_many(many_pages), few = touch_few(few_pages);

	printf("{\"many\": %ld, \"few\": %ld}\n", many, few);
	return 0;
}
