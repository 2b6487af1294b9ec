/* Does a fixed piece of work again and again, and prints for each when it began and ended (CLOCK_MONOTONIC ns), until its
 * standard input ends.
 *
 *   fixed cpu        sorts numbers, walks through memory
 *   fixed io FILE    reads 16 KiB at a time from places all over the file, past the page cache, adds it up, and writes
 *                    results through to the disk now and then
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NUMBERS 40000
#define BLOCK (16 << 10)
#define BLOCKS 4096 /* 64 MiB */
#define READS 256

static unsigned numbers[NUMBERS];
static unsigned char *block;
static int file;
static unsigned long long sum;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

static void compute(void)
{
	unsigned r = 1;

	for (int round = 0; round < 16; round++) {
		for (int i = 0; i < NUMBERS; i++)
			numbers[i] = r = r * 1664525 + 1013904223;
		qsort(numbers, NUMBERS, sizeof numbers[0], compare);
		for (int i = 0; i < NUMBERS; i++)
			sum += numbers[(i * 7919) % NUMBERS];
	}
}

static void transfer(void)
{
	unsigned r = 1;

	for (int i = 0; i < READS; i++) {
		r = r * 1664525 + 1013904223;
		if (pread(file, block, BLOCK, (off_t)(r >> 16) % BLOCKS * BLOCK) != BLOCK)
			exit(1);
		for (int j = 0; j < BLOCK; j++)
			sum += block[j];
	}
	if (pwrite(file, block, BLOCK, 0) != BLOCK || fdatasync(file))
		exit(1);
}

static int goes_on(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	return poll(&in, 1, 0) == 0;
}

int main(int argc, char **argv)
{
	int io = argc == 3 && !strcmp(argv[1], "io");

	if (posix_memalign((void **)&block, 4096, BLOCK))
		return 1;
	memset(block, 1, BLOCK);
	if (io) {
		file = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
		for (int i = 0; i < BLOCKS; i++)
			if (pwrite(file, block, BLOCK, (off_t)i * BLOCK) != BLOCK)
				return 1;
	}
	while (goes_on()) {
		long long begin = now();

		if (io)
			transfer();
		else
			compute();
		printf("%lld %lld\n", begin, now());
		fflush(stdout);
	}
	return sum == 1;
}
