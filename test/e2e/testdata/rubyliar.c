/*
 * Has the virtual machine of Ruby in its stack, and in its memory nonsense that is always new: frames without an end, iseqs and strings that are
 * none, tables of lines without a bound.
 *
 *	rubyliar LIBRARY ADDRESS	the address of what describes the variable with the execution context, in the library
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define AREAS 128
#define WORDS 64
#define FRAME_WORDS 8

void *__tls_get_addr(void *);

static uint64_t areas[AREAS][WORDS];
static void **context;
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
	case 6: return 5 | rand() << 13; /* a string */
	case 7: return 7 | rand() << 13; /* an array */
	}
	return (uint64_t)areas[rand() % AREAS];
}

static void lie(void)
{
	uint64_t *ec = areas[0];

	for (int i = 0; i < AREAS; i++)
		for (int j = 0; j < WORDS; j++)
			areas[i][j] = nonsense();
	for (int i = 0; i < AREAS - 1; i++)
		for (int j = 0; j < WORDS; j += FRAME_WORDS)
			if (rand() % 64) /* else the walk ends soon */
				areas[i][j + 4] = (uint64_t)areas[AREAS - 1]; /* where a frame has its flags */
	areas[AREAS - 1][0] = 0x11110001 | (rand() & 0x20);
	if (rand() % 8) {
		ec[0] = (uint64_t)areas;
		ec[1] = rand() % 4 ? AREAS * WORDS : rand() % 2 ? 1 << 27 : nonsense(); /* words of the stack */
		ec[2] = (uint64_t)areas[rand() % AREAS]; /* the innermost frame */
	}
	*context = rand() % 16 ? ec : (void *)nonsense();
}

/* What the library calls. */
static void wait_in_it(const char *word, int length, void *arg)
{
	struct timespec wait = {0, 200000};

	lie();
	nanosleep(&wait, NULL);
	for (int i = 0; i < 100000; i++)
		sink += i;
}

int main(int count, char **args)
{
	void *library = count > 2 ? dlopen(args[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	void (*each)(const char *, void (*)(const char *, int, void *), void *) = library ? dlsym(library, "ruby_each_words") : NULL;
	struct timespec begun, now;
	Dl_info info;

	if (!each || !dladdr((void *)each, &info)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	context = __tls_get_addr((char *)info.dli_fbase + strtoull(args[2], NULL, 0));
	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		each("a", wait_in_it, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begun.tv_sec < 2);
	_Exit(0);
}
