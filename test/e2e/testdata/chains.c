// Sleeps in chains of functions without frame pointers.
//
//   chains TIMES LIBRARY      1 ms that often in each chain
//   chains 0 LIBRARY          one minute in the first chain
//   chains lazy LIBRARY       one minute in a function that the dynamic linker calls
//   chains generated LIBRARY  one minute in a function that generated code calls
//   chains children LIBRARY   200 times until a child of vfork(), clone() and posix_spawn() has ended or called execve()
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noipa))

static volatile int sink;
static struct timespec length = {0, 1000000};
static void (*call_back)(void (*)(void));
static void (*generated)(void (*)(void));

FUNCTION void sleeps(void)
{
	clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL);
	sink++;
}

/* A frame whose size is known at run time only: its rules are by the frame pointer's register. */
FUNCTION void variable(int n)
{
	char room[n];

	memset(room, n, n);
	sleeps();
	sink += room[n / 2];
}

FUNCTION void deep(int depth)
{
	if (depth)
		deep(depth - 1);
	else
		variable(100 + depth);
	sink++;
}

FUNCTION void handler(int signal)
{
	sleeps();
	sink += signal;
}

FUNCTION void interrupted(void)
{
	raise(SIGUSR1);
	sink++;
}

FUNCTION void called_back(void)
{
	sleeps();
	sink++;
}

FUNCTION void through_library(void)
{
	call_back(called_back);
	sink++;
}

/* sub $24, %rsp; call *%rdi; add $24, %rsp; ret */
static const unsigned char code[] = {0x48, 0x83, 0xec, 0x18, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x18, 0xc3};

/* Across two pages, as code may be, and no longer writable, as Python's trampolines are. */
static void generate(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	generated = memcpy(pages + 4096 - 7, code, sizeof(code));
	if (mprotect(pages, 8192, PROT_READ | PROT_EXEC))
		exit(1);
}

FUNCTION void through_generated(void)
{
	generated(called_back);
	sink++;
}

FUNCTION void through_linker(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY);
	void (*call_lazily)(void) = dlsym(library, "call_lazily");

	call_lazily();
	sink++;
}

FUNCTION void *in_thread(void *times)
{
	for (int i = *(int *)times; i > 0; i--)
		sleeps();
	sink++;
	return NULL;
}

static int child(void *unused)
{
	sleeps();
	_exit(0);
}

FUNCTION void forks(void)
{
	if (!vfork())
		child(NULL);
	wait(NULL);
	sink++;
}

FUNCTION void clones(void)
{
	static char stack[65536] __attribute__((aligned(16)));

	clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	wait(NULL);
	sink++;
}

FUNCTION void spawns(void)
{
	char *const args[] = {"true", NULL};
	pid_t pid;

	if (posix_spawn(&pid, "/bin/true", NULL, NULL, args, NULL))
		exit(1);
	wait(NULL);
	sink++;
}

int main(int argc, char **argv)
{
	int times = atoi(argv[1]);
	void *library;
	pthread_t thread;

	if (!strcmp(argv[1], "lazy"))
		through_linker(argv[2]);
	library = dlopen(argv[2], RTLD_NOW);
	if (!library || !(call_back = dlsym(library, "call_back"))) {
		fprintf(stderr, "chains: %s\n", dlerror());
		return 1;
	}
	generate();
	if (!strcmp(argv[1], "children")) {
		for (int i = 0; i < 200; i++) {
			forks();
			clones();
			spawns();
		}
		return 0;
	}
	if (!strcmp(argv[1], "generated")) {
		length = (struct timespec){60, 0};
		through_generated();
	}
	if (!times) {
		length = (struct timespec){60, 0};
		deep(50);
	}
	signal(SIGUSR1, handler);
	for (int i = 0; i < times; i++) {
		deep(50);
		interrupted();
		through_library();
		through_generated();
	}
	pthread_create(&thread, NULL, in_thread, &times);
	pthread_join(thread, NULL);
	return 0;
}
