/*
 * Touches and frees known amounts of memory, and prints after each step the time (CLOCK_MONOTONIC, ns) and what /proc/self/status says:
 * bytes of anonymous, file and shared memory.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static void report(void)
{
	long anon = 0, file = 0, shmem = 0;
	struct timespec now;
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "RssAnon: %ld", &anon);
		sscanf(line, "RssFile: %ld", &file);
		sscanf(line, "RssShmem: %ld", &shmem);
	}
	if (f)
		fclose(f);
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("%lld %ld %ld %ld\n", now.tv_sec * 1000000000LL + now.tv_nsec, anon << 10, file << 10, shmem << 10);
	fflush(stdout);
	usleep(20000); /* what follows is later than the report */
}

int main(void)
{
	size_t size = 64 << 20;
	char *private = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *shared = mmap(NULL, size / 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	madvise(private, size, MADV_NOHUGEPAGE);
	madvise(shared, size / 4, MADV_NOHUGEPAGE);
	memset(private, 1, size);
	report();
	madvise(private, size / 2, MADV_DONTNEED);
	report();
	memset(shared, 1, size / 4);
	report();
	munmap(private, size);
	report();
	munmap(shared, size / 4);
	report();
	return 0;
}
