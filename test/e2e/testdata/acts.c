/* Does countable things to itself and prints what it did: tests compare that with a recording. */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIGNALS = 100, IGNORED = 7, PAGES = 1000, MOVES = 50, NOPS = 64 };

static volatile int handled;

__attribute__((noinline)) static void count_signal(int number)
{
	handled++;
}

static void send_signals(void)
{
	struct sigaction action = {.sa_handler = count_signal};

	sigaction(SIGUSR1, &action, NULL);
	signal(SIGUSR2, SIG_IGN);
	for (int i = 0; i < SIGNALS; i++)
		kill(getpid(), SIGUSR1);
	for (int i = 0; i < IGNORED; i++)
		kill(getpid(), SIGUSR2);
}

static uintptr_t touch_pages(void)
{
	size_t size = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, PAGES * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(pages, PAGES * size, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++)
		*(volatile char *)(pages + i * size) = 1;
	return (uintptr_t)pages;
}

static int move(void)
{
	cpu_set_t set;
	int moves = 0;

	for (int i = 0; i < MOVES; i++) {
		int to = !sched_getcpu();

		CPU_ZERO(&set);
		CPU_SET(to, &set);
		if (sched_setaffinity(0, sizeof(set), &set))
			exit(1);
		moves += sched_getcpu() == to;
	}
	return moves;
}

/* Each request is waited for before the next one is submitted. */
static int run_ring(void)
{
	struct io_uring_params params = {0};
	int fd = syscall(SYS_io_uring_setup, 8, &params), done = 0;
	char *ring, *entries;

	if (fd < 0)
		return -1;
	ring = mmap(NULL, params.sq_off.array + params.sq_entries * 4 + params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
		    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
	entries = mmap(NULL, params.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQES);
	for (int i = 0; i < NOPS; i++) {
		_Atomic unsigned *tail = (void *)(ring + params.sq_off.tail), *head = (void *)(ring + params.cq_off.head);
		unsigned slot = *tail & (params.sq_entries - 1);
		struct io_uring_sqe *entry = (struct io_uring_sqe *)entries + slot;

		memset(entry, 0, sizeof(*entry));
		entry->opcode = IORING_OP_NOP;
		entry->user_data = 1000 + i;
		((unsigned *)(ring + params.sq_off.array))[slot] = slot;
		atomic_fetch_add(tail, 1);
		done += syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1;
		atomic_fetch_add(head, 1);
	}
	close(fd);
	return done;
}

int main(void)
{
	uintptr_t pages = touch_pages();
	int moves = move(), nops = run_ring();

	send_signals();
	printf("{\"signals\":%d,\"ignored\":%d,\"handled\":%d,\"start\":%lu,\"pages\":%d,\"moves\":%d,\"nops\":%d}\n", SIGNALS, IGNORED, handled,
	       (unsigned long)pages, PAGES, moves, nops);
}
