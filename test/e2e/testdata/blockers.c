// SPDX-License-Identifier: Apache-2.0
// Threads that block, each in one kind of wait and through a chain of functions that the test knows: outer_WAIT, middle_WAIT and
// inner_WAIT, and the last one makes the system call itself. Linked statically, and threads made by clone(2), so that
// every frame from the beginning of the thread has a frame pointer.
//
//   blockers run MS [DIR]    block and go on for MS milliseconds; with DIR also on the file system of that folder
//   blockers stay MS         block for longer than MS, beside a thread that never blocks
//
// Prints "thread TID NAME" for each, then "ready", and at the end "blocks TID N": N is how often the kernel says that
// the thread has blocked (nvcsw) while it did its work.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CHAINED __attribute__((noinline, used))

// Without it gcc gives a function that calls none no frame of its own.
#define FRAME() __asm__ volatile("" : : "r"(__builtin_frame_address(0)))

enum {
	FILE_BYTES = 16 << 20,
	PAGE = 4096,
	STRIDE = 32 * PAGE, // more than the kernel maps around a fault
	STACK_BYTES = 64 << 10,
	FOREVER_MS = 100 * 1000,
};

struct thread {
	const char *name;
	void (*work)(void);
	pid_t tid;          // written when the thread is made
	volatile pid_t alive; // cleared by the kernel when it ends
	long blocks;
};

static volatile int stop;
static int filled[2], empty[2]; // pipes: the one is written to, the other never
static volatile int word, never;
static int faulted, synced;     // files
static char *mapping;

// The C library's system calls have no frame of their own, and so would hide their callers.
static inline __attribute__((always_inline)) long call(long nr, long a, long b, long c, long d)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return r;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
#else
#error "which system call instruction?"
#endif
}

#define CHAIN(way)                                                       \
	CHAINED long middle_##way(long a)                                \
	{                                                                \
		long r = inner_##way(a);                                 \
		__asm__ volatile("" ::: "memory");                       \
		return r;                                                \
	}                                                                \
	CHAINED long outer_##way(long a)                                 \
	{                                                                \
		long r = middle_##way(a);                                \
		__asm__ volatile("" ::: "memory");                       \
		return r;                                                \
	}

CHAINED long inner_nanosleep(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	FRAME();
	return call(SYS_nanosleep, (long)&ts, 0, 0, 0);
}
CHAIN(nanosleep)

CHAINED long inner_pipe(long fd)
{
	char c;

	FRAME();
	return call(SYS_read, fd, (long)&c, 1, 0);
}
CHAIN(pipe)

CHAINED long inner_write(long fd)
{
	FRAME();
	return call(SYS_write, fd, (long)"x", 1, 0);
}
CHAIN(write)

CHAINED long inner_futex(long address)
{
	FRAME();
	return call(SYS_futex, address, FUTEX_WAIT_PRIVATE, 0, 0);
}
CHAIN(futex)

CHAINED long inner_wake(long address)
{
	FRAME();
	return call(SYS_futex, address, FUTEX_WAKE_PRIVATE, 1, 0);
}
CHAIN(wake)

CHAINED long inner_fault(long address)
{
	FRAME();
	return *(volatile char *)address;
}
CHAIN(fault)

// Both, because pages that are mapped are not dropped.
CHAINED long inner_drop(long fd)
{
	FRAME();
	call(SYS_madvise, (long)mapping, FILE_BYTES, MADV_DONTNEED, 0);
	return call(SYS_fadvise64, fd, 0, 0, POSIX_FADV_DONTNEED);
}
CHAIN(drop)

CHAINED long inner_dirty(long offset)
{
	static const char page[PAGE] = { 1 };

	FRAME();
	return call(SYS_pwrite64, synced, (long)page, PAGE, offset);
}
CHAIN(dirty)

CHAINED long inner_fsync(long fd)
{
	FRAME();
	return call(SYS_fsync, fd, 0, 0, 0);
}
CHAIN(fsync)

// Two lengths, so that a threshold between them keeps one and drops the other.
static void work_nanosleep(void)
{
	while (!stop) {
		outer_nanosleep(2);
		outer_nanosleep(12);
	}
}

static void work_pipe(void)
{
	while (!stop)
		outer_pipe(filled[0]);
}

static void work_write(void)
{
	while (!stop) {
		outer_nanosleep(4);
		outer_write(filled[1]);
	}
	outer_write(filled[1]); // the reader is to see the end
}

static void work_futex(void)
{
	while (!stop) {
		outer_futex((long)&word);
		word = 0;
	}
}

static void work_wake(void)
{
	while (!stop) {
		outer_nanosleep(4);
		word = 1;
		outer_wake((long)&word);
	}
	word = 1;
	outer_wake((long)&word);
}

static void work_fault(void)
{
	while (!stop) {
		outer_drop(faulted);
		for (long at = 0; at < FILE_BYTES && !stop; at += STRIDE)
			outer_fault((long)mapping + at);
	}
}

static void work_fsync(void)
{
	for (long at = 0; !stop; at = (at + PAGE) % (1 << 20)) {
		outer_dirty(at);
		outer_fsync(synced);
	}
}

static void stay_nanosleep(void) { outer_nanosleep(FOREVER_MS); }
static void stay_pipe(void) { outer_pipe(empty[0]); }
static void stay_futex(void) { outer_futex((long)&never); }

CHAINED void spin(void)
{
	while (!stop)
		;
}

static struct thread runners[] = {
	{ "nanosleep", work_nanosleep }, { "pipe", work_pipe }, { "write", work_write }, { "futex", work_futex },
	{ "wake", work_wake }, { "fault", work_fault }, { "fsync", work_fsync }, { .name = 0 },
};
static const int without_disk = 5;

static struct thread stayers[] = {
	{ "nanosleep", stay_nanosleep }, { "pipe", stay_pipe }, { "futex", stay_futex }, { "spin", spin }, { .name = 0 },
};

static long blocked(void)
{
	struct rusage ru;

	call(SYS_getrusage, RUSAGE_THREAD, (long)&ru, 0, 0);
	return ru.ru_nvcsw;
}

// Nothing of the C library here: the threads share its per-thread data.
CHAINED int thread(void *arg)
{
	struct thread *t = arg;
	long before;

	call(SYS_prctl, PR_SET_NAME, (long)t->name, 0, 0);
	before = blocked();
	t->work();
	t->blocks = blocked() - before;
	return 0;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void start(struct thread *t)
{
	char *stack = mmap(0, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		fail("mmap of a stack");
	t->alive = 1;
	if (clone(thread, stack + STACK_BYTES,
		  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
		  t, &t->tid, NULL, &t->alive) < 0)
		fail("clone");
	printf("thread %d %s\n", t->tid, t->name);
}

static int made(const char *dir, const char *name, long bytes)
{
	static char text[1 << 20];
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		fail(path);
	memset(text, 1, sizeof(text));
	for (long at = 0; at < bytes; at += sizeof(text))
		if (pwrite(fd, text, sizeof(text), at) != sizeof(text))
			fail("pwrite");
	if (fsync(fd))
		fail("fsync");
	return fd;
}

static void make_files(const char *dir)
{
	faulted = made(dir, "faulted", FILE_BYTES);
	synced = made(dir, "synced", 1 << 20);
	mapping = mmap(0, FILE_BYTES, PROT_READ, MAP_SHARED, faulted, 0);
	if (mapping == MAP_FAILED || madvise(mapping, FILE_BYTES, MADV_RANDOM))
		fail("mmap of the file");
}

static void pause_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts))
		;
}

int main(int argc, char **argv)
{
	struct thread *all = runners;
	int runs = argc >= 3 && !strcmp(argv[1], "run");

	if (!runs && (argc != 3 || strcmp(argv[1], "stay")))
		return 2;
	if (pipe(filled) || pipe(empty))
		fail("pipe");
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!runs)
		all = stayers;
	else if (argc > 3)
		make_files(argv[3]);
	else
		runners[without_disk].name = 0;
	for (struct thread *t = all; t->name; t++)
		start(t);
	printf("ready\n");
	pause_ms(atol(argv[2]));
	if (!runs)
		exit(0); // with threads that never end
	stop = 1;
	for (struct thread *t = all; t->name; t++) {
		while (t->alive)
			pause_ms(1);
		printf("blocks %d %ld\n", t->tid, t->blocks);
	}
	return 0;
}
