/*
 * Has the interpreter of Python 3.11 in its stack, and in the interpreter's memory nonsense that is always new: lists without an end, frames
 * that call each other, code objects that are none.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define AREAS 128
#define WORDS 64

static uint64_t areas[AREAS][WORDS];
static uint64_t *head;
static volatile uint64_t sink;

static uint64_t nonsense(void)
{
	switch (rand() % 12) {
	case 0: return 0;
	case 1: return rand() % 64;
	case 2: return rand();
	case 3: return -(uint64_t)rand();
	case 4: return 0xffff888000000000 + rand();
	case 5: return (uint64_t)rand() << 20;
	}
	return (uint64_t)areas[rand() % AREAS];
}

static void lie(void)
{
	for (int i = 0; i < AREAS; i++) {
		for (int j = 0; j < WORDS; j++)
			areas[i][j] = nonsense();
		if (rand() % 4)
			areas[i][152 / 8] = pthread_self(); /* thread_id of a state */
		if (rand() % 2)
			areas[i][32 / 8] = rand(); /* state of a str */
		if (rand() % 2)
			areas[i][16 / 8] = rand() % 10000; /* length */
	}
	*head = (uint64_t)areas[rand() % AREAS];
}

/* What the interpreter calls. */
static void *wait_in_it(void *context, size_t bytes)
{
	struct timespec wait = {0, 200000};

	lie();
	nanosleep(&wait, NULL);
	for (int i = 0; i < 100000; i++)
		sink += i;
	return NULL;
}

int main(int count, char **args)
{
	void *library = count > 1 ? dlopen(args[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	void *(*copy)(const char *) = library ? dlsym(library, "_PyMem_RawStrdup") : NULL; /* calls the allocator, and stays in the stack */
	void (*set)(int, void *) = library ? dlsym(library, "PyMem_SetAllocator") : NULL;
	void *allocator[5] = {NULL, wait_in_it};
	struct timespec begun, now;

	if (!copy || !set) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	head = (uint64_t *)((char *)dlsym(library, "_PyRuntime") + 40); /* interpreters.head */
	set(0, allocator);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		copy("");
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begun.tv_sec < 2);
	_Exit(0);
}
