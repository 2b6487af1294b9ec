// SPDX-License-Identifier: Apache-2.0
// Runs a loop that is made of one kind of event and prints how many seconds it took.
//
//   events CPU WHAT ROUNDS
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/io_uring.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 1024, PAGE = 4096, BATCH = 64 };

#define TRY(call) ({ long r_ = (call); if (r_ < 0) { perror(#call); exit(1); } r_; })

static void pin(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	TRY(sched_setaffinity(0, sizeof(one), &one));
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static char *pages;

static void map_pages(void)
{
	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	TRY(madvise(pages, PAGES * PAGE, MADV_NOHUGEPAGE));
}

// A fault for each page.
static void touch_pages(void)
{
	TRY(madvise(pages, PAGES * PAGE, MADV_DONTNEED));
	for (int i = 0; i < PAGES; i++)
		*(volatile char *)(pages + i * PAGE) = 1;
}

static int sender, receiver;
static char payload[8];
static struct iovec part = {payload, sizeof(payload)};
static struct mmsghdr messages[BATCH];

static void open_sockets(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(to);

	receiver = TRY(socket(AF_INET, SOCK_DGRAM, 0));
	TRY(bind(receiver, (struct sockaddr *)&to, size));
	TRY(getsockname(receiver, (struct sockaddr *)&to, &size));
	sender = TRY(socket(AF_INET, SOCK_DGRAM, 0));
	TRY(connect(sender, (struct sockaddr *)&to, size));
	for (int i = 0; i < BATCH; i++)
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1};
}

// A datagram each is sent by loopback, and received in a soft interrupt.
static void send_datagrams(void)
{
	for (int left = BATCH; left;)
		left -= TRY(sendmmsg(sender, messages, left, 0));
	for (int left = BATCH; left;)
		left -= TRY(recvmmsg(receiver, messages, left, 0, NULL));
}

static void *spin(void *unused)
{
	pin(0);
	for (;;)
		__asm__ volatile("pause");
	return unused;
}

static void start_spinning(void)
{
	pthread_t thread;

	TRY(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
	TRY(-pthread_create(&thread, NULL, spin, NULL));
	usleep(10000);
}

// An interrupt of the other CPU, which is waited for.
static void interrupt_other(void)
{
	TRY(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
}

static void ignore(int number)
{
	(void)number;
}

static void catch_signal(void)
{
	signal(SIGUSR1, ignore);
}

static void signal_itself(void)
{
	raise(SIGUSR1);
}

static int ring;
static char *queue; // both rings, in one mapping
static struct io_uring_sqe *entries;
static struct io_uring_params params;

static void open_ring(void)
{
	ring = TRY(syscall(SYS_io_uring_setup, BATCH, &params));
	queue = mmap(NULL, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	entries = mmap(NULL, params.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	if (queue == MAP_FAILED || entries == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	for (unsigned i = 0; i < params.sq_entries; i++) {
		((unsigned *)(queue + params.sq_off.array))[i] = i;
		entries[i].opcode = IORING_OP_NOP;
	}
}

// Requests that do nothing.
static void submit_requests(void)
{
	*(unsigned *)(queue + params.sq_off.tail) += params.sq_entries;
	TRY(syscall(SYS_io_uring_enter, ring, params.sq_entries, params.sq_entries, IORING_ENTER_GETEVENTS, NULL, 0));
	*(unsigned *)(queue + params.cq_off.head) += params.sq_entries;
}

static void nothing(void)
{
}

static void move(void)
{
	pin(0);
	pin(1);
}

static void call(void)
{
	syscall(SYS_getppid);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*prepare)(void), (*round)(void);
	} loops[] = {{"calls", nothing, call}, {"faults", map_pages, touch_pages}, {"datagrams", open_sockets, send_datagrams},
		     {"ipi", start_spinning, interrupt_other}, {"signals", catch_signal, signal_itself}, {"moves", nothing, move},
		     {"requests", open_ring, submit_requests}};

	for (unsigned i = 0; argc == 4 && i < sizeof(loops) / sizeof(*loops); i++) {
		double start;

		if (strcmp(argv[2], loops[i].name))
			continue;
		pin(atoi(argv[1]));
		loops[i].prepare();
		loops[i].round();
		start = now();
		for (long left = atol(argv[3]); left; left--)
			loops[i].round();
		printf("%.9f\n", now() - start);
		return 0;
	}
	fprintf(stderr, "usage: %s CPU WHAT ROUNDS\n", argv[0]);
	return 2;
}
