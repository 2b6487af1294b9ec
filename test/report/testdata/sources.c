// SPDX-License-Identifier: Apache-2.0
// Programs for findings about devices and the network: prints "ready" when it has begun, and runs until it is killed. storm waits for
// a character before it begins, and for another one to end.
#include "truth.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <signal.h>

enum { PAGE = 4096, STEP = 1 << 18, RECEIVERS = 32 };

static off_t size_of(int file)
{
	return TRY(lseek(file, 0, SEEK_END));
}

static const char *path;
static int parts;

// Reads single blocks that nobody has read before, past the cache.
static void *reads(void *number)
{
	int file = TRY(open(path, O_RDONLY | O_DIRECT));
	off_t size = size_of(file);
	void *block = NULL;

	TRY(-posix_memalign(&block, PAGE, PAGE));
	for (off_t at = (long)number * STEP;; at = (at + parts * STEP) % size)
		TRY(pread(file, block, PAGE, at));
	return NULL;
}

static void read_disk(void)
{
	for (int part = 0; part < parts; part++) {
		pthread_t t;

		pthread_create(&t, NULL, reads, (void *)(long)part);
	}
}

// Reads single pages of a file in memory; each is thrown away, so that it has to be read again.
static void *touches(void *unused)
{
	int file = TRY(open(path, O_RDONLY));
	off_t size = size_of(file);
	volatile char *memory = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);

	madvise((void *)memory, size, MADV_RANDOM);
	for (off_t at = 0;; at = (at + 257 * PAGE) % size) {
		(void)memory[at];
		madvise((void *)(memory + at), PAGE, MADV_DONTNEED);
		posix_fadvise(file, at, PAGE, POSIX_FADV_DONTNEED);
	}
	return unused;
}

static void map_file(void)
{
	pthread_t t;

	pthread_create(&t, NULL, touches, NULL);
}

static int udp(struct sockaddr_in *at)
{
	int s = TRY(socket(AF_INET, SOCK_DGRAM, 0));
	socklen_t length = sizeof(*at);

	*at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	TRY(bind(s, (struct sockaddr *)at, sizeof(*at)));
	TRY(getsockname(s, (struct sockaddr *)at, &length));
	return s;
}

static void pin(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	TRY(sched_setaffinity(0, sizeof(one), &one));
}

static struct sockaddr_in target;
static int pause_us, burst = 1, sender_cpu = -1;

static void *sends(void *unused)
{
	char text[64] = "";
	int s = TRY(socket(AF_INET, SOCK_DGRAM, 0));

	TRY(setsockopt(s, SOL_SOCKET, SO_BROADCAST, &(int){1}, sizeof(int)));
	if (sender_cpu >= 0)
		pin(sender_cpu);
	for (;;) {
		for (int i = 0; i < burst; i++)
			(void)!sendto(s, text, sizeof(text), 0, (struct sockaddr *)&target, sizeof(target));
		usleep(pause_us);
	}
	return unused;
}

// A receiver that is too slow for what is sent, with a small buffer.
static void flood(void)
{
	int s = udp(&target), room = 4096;
	pthread_t t;

	TRY(setsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)));
	pause_us = 200;
	pthread_create(&t, NULL, sends, NULL);
}

static void *receives(void *s)
{
	char text[64];

	for (;;)
		TRY(recv((long)s, text, sizeof(text), 0));
	return NULL;
}

// A receiver that is fast enough.
static void datagrams(void)
{
	long s = udp(&target);
	pthread_t t;

	pause_us = 200;
	pthread_create(&t, NULL, receives, (void *)s);
	pthread_create(&t, NULL, sends, NULL);
}

// Closes sockets that have got what they have not read, 20 packets each, 20 times.
static void unread(void)
{
	char text[64] = "";
	int s = TRY(socket(AF_INET, SOCK_DGRAM, 0));

	for (int i = 0; i < 20; i++) {
		int receiver = udp(&target);

		for (int n = 0; n < 20; n++)
			TRY(sendto(s, text, sizeof(text), 0, (struct sockaddr *)&target, sizeof(target)));
		close(receiver);
		usleep(10000);
	}
}

static void *computes(void *unused)
{
	pin(0);
	for (;;)
		spin_ns(1000000);
	return unused;
}

// Packets that another process sends on CPU 1 are received by CPU 0, in its interrupts, while a thread computes there. In a network of its own.
static void storm(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	pthread_t t;
	int rps;

	TRY(unshare(CLONE_NEWNET | CLONE_NEWNS));
	TRY(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	TRY(mount("sysfs", "/sys", "sysfs", 0, NULL));
	TRY(ioctl(TRY(socket(AF_INET, SOCK_DGRAM, 0)), SIOCSIFFLAGS, &lo));
	rps = TRY(open("/sys/class/net/lo/queues/rx-0/rps_cpus", O_WRONLY));
	TRY(write(rps, "1", 1));
	target = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(9999), .sin_addr.s_addr = htonl(INADDR_LOOPBACK | 0xffffff)};
	for (int i = 0; i < RECEIVERS; i++) { // all of them get each packet
		struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = target.sin_port};
		int s = TRY(socket(AF_INET, SOCK_DGRAM, 0));

		TRY(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)));
		TRY(bind(s, (struct sockaddr *)&any, sizeof(any)));
	}
	sender_cpu = 1;
	burst = 20;
	pause_us = 50; // without, the packets would soon be received by a thread of the kernel
	printf("ready\n");
	fflush(stdout);
	getchar();
	if (!TRY(fork())) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sends(NULL);
	}
	pthread_create(&t, NULL, computes, NULL);
	getchar();
	_exit(0);
}

// Joins the cgroup whose cgroup.procs is given, and keeps a CPU busy.
static void without_quota(void)
{
	pthread_t t;

	TRY(write(TRY(open(path, O_WRONLY)), "0", 1));
	pthread_create(&t, NULL, computes, NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*begin)(void);
	} modes[] = {{"read", read_disk}, {"map", map_file}, {"flood", flood}, {"datagrams", datagrams}, {"unread", unread}, {"storm", storm}, {"quota", without_quota}};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	TRY(setsid()); // for tools.Prefer
	path = argc > 2 ? argv[2] : "";
	parts = argc > 3 ? atoi(argv[3]) : 1;
	for (unsigned i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		modes[i].begin();
		printf("ready\n");
		fflush(stdout);
		for (;;)
			pause();
	}
	fprintf(stderr, "usage: %s read|map|flood|datagrams|unread|storm|quota [FILE [THREADS]]\n", argv[0]);
	return 2;
}
