/*
 * Calls its functions and static probes a known number of times, with known arguments:
 *
 *   known all     everything, once
 *   known quick N calls quick() N times
 *   known serve   what standard input says, a command a line; answers each one with "done"
 *
 * Prints what it measured, NAME=VALUE a line.
 */
#define _GNU_SOURCE
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "known.h"

#define SEMAPHORE(name) __extension__ unsigned short name##_semaphore __attribute__((unused, section(".probes")))

SEMAPHORE(known_guarded);
SEMAPHORE(known_begin);
SEMAPHORE(known_end);
SEMAPHORE(known_sent);
SEMAPHORE(known_got);

static long nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

FUNCTION void take_int(int n) { asm volatile("" ::"r"(n)); }
FUNCTION void take_text(const char *text) { asm volatile("" ::"r"(text)); }
FUNCTION int take_eight(int a, int b, int c, int d, int e, int f, int g, const char *h) { return a + b + c + d + e + f + g + (h != NULL); }
FUNCTION int give(int n) { return -3 * n; }
FUNCTION void glob_one(void) { asm volatile(""); }
FUNCTION void glob_two(void) { asm volatile(""); }
FUNCTION void glob_three(void) { asm volatile(""); }
FUNCTION void amount(int key, long value, const char *name) { asm volatile("" ::"r"(key), "r"(value), "r"(name)); }
FUNCTION void flood(int n) { asm volatile("" ::"r"(n)); }
FUNCTION int shared(int n) { return n + 1; }
FUNCTION int caller_a(int n) { return shared(n) + 1; }
FUNCTION int caller_b(int n) { return shared(n) + 2; }
FUNCTION void named(int n) { asm volatile("" ::"r"(n)); }
FUNCTION int quick(int n) { return n + 1; }
FUNCTION void hang(int seconds) { sleep(seconds); }
FUNCTION int nest(int depth) { return depth > 1 ? nest(depth - 1) + 1 : 1; }

FUNCTION const char *give_text(int n)
{
	static char text[32];

	snprintf(text, sizeof text, "returned %d", n);
	return text;
}

FUNCTION void spot(int n)
{
	for (int i = 0; i < n; i++)
		asm volatile(".globl spot_inside\nspot_inside: nop");
}

FUNCTION long slow(int us)
{
	long begin = nanoseconds();

	usleep(us);
	return nanoseconds() - begin;
}

static void texts(void)
{
	char text[301];

	for (int i = 0; i < 10; i++) {
		snprintf(text, sizeof text, "text %d", i);
		take_text(text);
	}
	memset(text, 'x', 300);
	text[300] = 0;
	take_text(text);
	take_text((const char *)8);
	take_text(NULL);
}

static void *run_named(void *name)
{
	prctl(PR_SET_NAME, name);
	for (int i = 0; i < 6; i++)
		named(i);
	return NULL;
}

static void named_threads(void)
{
	char *names[] = { "alpha-1", "alpha-2", "beta" };

	for (int i = 0; i < 3; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, run_named, names[i]);
		pthread_join(thread, NULL);
	}
}

static sem_t sent, got;
static int in_flight;

static void *receive(void *unused)
{
	for (int i = 0; i < 30; i++) {
		sem_wait(&sent);
		DTRACE_PROBE2(known, got, in_flight, -in_flight);
		sem_post(&got);
	}
	return NULL;
}

/* Requests that begin in one thread and end in another. */
static void requests(void)
{
	pthread_t thread;

	for (int i = 0; i < 20; i++) {
		DTRACE_PROBE1(known, begin, i);
		DTRACE_PROBE2(known, end, i, 200 + i);
	}
	sem_init(&sent, 0, 0);
	sem_init(&got, 0, 0);
	pthread_create(&thread, NULL, receive, NULL);
	for (int i = 0; i < 30; i++) {
		in_flight = 1000 + i;
		DTRACE_PROBE1(known, sent, in_flight);
		sem_post(&sent);
		sem_wait(&got);
	}
	pthread_join(thread, NULL);
}

static void guarded(void)
{
	int enabled = 0;

	for (int i = 0; i < 15; i++) {
		if (!known_guarded_semaphore)
			continue;
		enabled++;
		DTRACE_PROBE4(known, guarded, -i, (unsigned char)(250 + i), 1UL << 40 | i, "guarded");
	}
	printf("guarded=%d\n", enabled);
}

static void *open_library(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
	void *library;

	if (n < 0)
		exit(1);
	path[n] = 0;
	strcpy(strrchr(path, '/'), "/libknown.so");
	library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return library;
}

static void library(void)
{
	void *library = open_library();
	int (*call)(int) = dlsym(library, "library_call");
	int (*enabled)(void) = dlsym(library, "library_enabled");

	for (int i = 0; i < 25; i++)
		call(i);
	printf("library=%d\n", enabled());
}

static void rename_thread(void)
{
	char name[16];

	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof name, "renamed-%d", i);
		prctl(PR_SET_NAME, name);
	}
}

static void all(void)
{
	for (int i = 0; i < 100; i++)
		take_int(i - 50);
	texts();
	for (int i = 0; i < 10; i++) {
		char text[32];

		snprintf(text, sizeof text, "eighth %d", i);
		take_eight(i, 1, 2, 3, 4, 5, 7 * i - 30, text);
		give(i);
		give_text(i);
	}
	spot(30);
	spot(12);
	for (int i = 0; i < 5; i++)
		nest(10);
	for (int i = 0; i < 8; i++) {
		long begin = nanoseconds(), inside = slow(1000 << i / 2);

		printf("inside=%ld\noutside=%ld\n", inside, nanoseconds() - begin);
	}
	for (int i = 0; i < 6; i++) {
		glob_three();
		if (i % 2)
			glob_two();
		if (i == 0)
			glob_one();
	}
	for (int i = 0; i < 1000; i++)
		amount(i % 5, (long)i * i - 20, i % 2 ? "odd" : "even");
	for (int i = 0; i < 5000; i++)
		flood(i);
	for (int i = 0; i < 7; i++)
		i % 2 ? caller_a(i) : caller_b(i);
	named_threads();
	requests();
	guarded();
	plain_probes(12);
	library();
	rename_thread();
	printf("pid=%d\nparent=%d\n", getpid(), getppid());
}

static void *run_hang(void *unused)
{
	prctl(PR_SET_NAME, "hanging");
	hang(100);
	return NULL;
}

static void serve(void)
{
	char line[64];

	setlinebuf(stdout);
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		int n = atoi(strchr(line, ' ') ?: " 0");
		long begin = nanoseconds();
		pthread_t thread;

		if (!strncmp(line, "calls", 5)) {
			for (int i = 0; i < n; i++)
				quick(i);
			printf("took=%ld\n", nanoseconds() - begin);
		} else if (!strncmp(line, "hang", 4)) {
			pthread_create(&thread, NULL, run_hang, NULL);
			usleep(20000);
		} else if (!strncmp(line, "semaphore", 9)) {
			printf("semaphore=%d\n", known_guarded_semaphore);
		}
		puts("done");
	}
}

int main(int argc, char **argv)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one); /* limits and sampling are of each CPU */
	if (argc > 1 && !strcmp(argv[1], "all"))
		all();
	else if (argc > 2 && !strcmp(argv[1], "quick"))
		for (int i = 0, n = atoi(argv[2]); i < n; i++)
			quick(i);
	else
		serve();
}
