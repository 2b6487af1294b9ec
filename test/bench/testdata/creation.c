/*
 * creation KIND N: makes N threads, forks or programs one after the other and waits for each, or gives itself N names, or
 * maps and unmaps code N times. Prints how many a second.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void *nothing(void *p) { return p; }

static void make_thread(int i)
{
	pthread_t t;

	(void)i;
	pthread_create(&t, 0, nothing, 0);
	pthread_join(t, 0);
}

static void make_fork(int i)
{
	pid_t pid = fork();

	(void)i;
	if (!pid)
		_exit(0);
	waitpid(pid, 0, 0);
}

static void make_program(int i)
{
	char *argv[] = { "/bin/true", 0 };
	pid_t pid;

	(void)i;
	posix_spawn(&pid, argv[0], 0, 0, argv, environ);
	waitpid(pid, 0, 0);
}

static void make_name(int i) { prctl(PR_SET_NAME, i & 1 ? "one" : "other"); }

static void make_mapping(int i)
{
	(void)i;
	munmap(mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(int);
	} kinds[] = { { "thread", make_thread }, { "fork", make_fork }, { "program", make_program }, { "name", make_name }, { "mapping", make_mapping } };
	int n = argc == 3 ? atoi(argv[2]) : 0;
	double begin;

	for (unsigned k = 0; n > 0 && k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (strcmp(argv[1], kinds[k].name))
			continue;
		begin = seconds();
		for (int i = 0; i < n; i++)
			kinds[k].make(i);
		printf("%.1f\n", n / (seconds() - begin));
		return 0;
	}
	return 2;
}
