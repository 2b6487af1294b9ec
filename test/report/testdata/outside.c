// SPDX-License-Identifier: Apache-2.0
// Threads that wait for something outside of their process.
#include "truth.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

static __attribute__((noinline)) void wait_until_ready(void)
{
	begin_wait("timer", HAS_WORK);
	sleep_ns(20000000);
	end_wait();
}

static __attribute__((noinline)) void back_off(void)
{
	begin_wait("timer", HAS_WORK);
	usleep(15000);
	end_wait();
}

static __attribute__((noinline)) void limit_rate(void)
{
	begin_wait("timer", HAS_WORK);
	usleep(10000);
	end_wait();
}

static void step_with_sleeps(void)
{
	spin_ns(1000000);
	wait_until_ready();
	spin_ns(1000000);
	back_off();
	spin_ns(1000000);
	limit_rate();
}

// A job that sleeps at three places instead of waiting for what it needs.
void sleeping_by_timer(void)
{
	repeat(step_with_sleeps);
}

// Listens on loopback, on a port below those that the kernel gives to clients.
static int listen_low(struct sockaddr_in *at)
{
	int s = TRY(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

	*at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	for (int i = 0; i < 10000; i++) {
		at->sin_port = htons(20000 + (getpid() + 17 * i) % 12000);
		if (!bind(s, (struct sockaddr *)at, sizeof(*at))) {
			TRY(listen(s, 64));
			return s;
		}
	}
	TRY(-1);
	return -1;
}

static int connect_to(struct sockaddr_in *at)
{
	int one = 1, s = TRY(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

	TRY(connect(s, (struct sockaddr *)at, sizeof(*at)));
	TRY(setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
	return s;
}

// Forks a process that ends with this one; 0 in it.
static int fork_peer(const char *name)
{
	int pid = TRY(fork());

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
	}
	return pid;
}

static struct sockaddr_in server_at;

static void *queries(void *unused)
{
	int s = connect_to(&server_at);
	char c = 0;

	for (;;) {
		spin_ns(500000);
		TRY(send(s, &c, 1, 0));
		begin_wait("receive", HAS_WORK);
		TRY(recv(s, &c, 1, 0));
		end_wait();
	}
	return unused;
}

// A client of a slow server in another process.
void waiting_for_peer(void)
{
	int listener = listen_low(&server_at);

	if (!fork_peer("slow-server")) {
		int s = TRY(accept(listener, NULL, NULL));
		char c;

		while (recv(s, &c, 1, 0) > 0) {
			usleep(30000);
			send(s, &c, 1, 0);
		}
		_exit(0);
	}
	close(listener);
	start("querying", queries, NULL);
}

enum { BLOCK = 8 << 20 };

static void *stores(void *block)
{
	char path[] = "stored.XXXXXX"; // in the folder where the test runs it
	int file = TRY(mkostemp(path, O_DIRECT));

	unlink(path);
	for (;;) {
		begin_wait("disk_write", HAS_WORK);
		TRY(pwrite(file, block, BLOCK, 0));
		end_wait();
	}
	return NULL;
}

// A thread that writes to a disk, past the cache.
void disk_bound(void)
{
	void *block = NULL;

	TRY(-posix_memalign(&block, 4096, BLOCK));
	start("storing", stores, block);
}

enum { READ = 4096 };

// Waits that are too short to be recorded one by one, and too many for the program's own spans.
static void *reads(void *block)
{
	char path[] = "read.XXXXXX";
	int file = TRY(mkostemp(path, O_DIRECT));

	unlink(path);
	TRY(pwrite(file, block, BLOCK, 0));
	for (off_t at = 0;; at = (at + 17 * READ) % BLOCK)
		TRY(pread(file, block, READ, at));
	return NULL;
}

// A thread that reads a fast disk in small pieces, past the cache.
void small_reads(void)
{
	void *block = NULL;

	TRY(-posix_memalign(&block, 4096, BLOCK));
	start("reading", reads, block);
}

static void *starts_processes(void *unused)
{
	char *const arguments[] = {"true", NULL}, *const environment[] = {NULL};

	for (;;) {
		pid_t pid;

		TRY(-posix_spawnp(&pid, "true", NULL, NULL, arguments, environment));
		begin_wait("child", HAS_WORK);
		TRY(waitpid(pid, NULL, 0));
		end_wait();
	}
	return unused;
}

// A thread that starts a process for each small piece of work.
void short_lived(void)
{
	start("spawning", starts_processes, NULL);
}

enum { CONNECTIONS = 8 };

static void *serves(void *socket)
{
	char c;

	for (;;) {
		begin_wait("receive", FOR_WORK);
		TRY(recv((long)socket, &c, 1, 0));
		end_wait();
		spin_ns(500000);
		send((long)socket, &c, 1, 0);
	}
	return NULL;
}

static void *waits_for_answer(void *unused)
{
	int s = connect_to(&server_at);
	char c = 0;

	for (;;) {
		usleep(20000);
		if (send(s, &c, 1, 0) < 0 || recv(s, &c, 1, 0) <= 0)
			_exit(0);
	}
	return unused;
}

static void serve(int listener)
{
	for (long i = 0; i < CONNECTIONS; i++)
		start("connection", serves, (void *)TRY(accept4(listener, NULL, NULL, SOCK_CLOEXEC)));
}

// A thread for each of eight connections that are kept, each with a request of 0.5 ms every 20 ms: 20% of a CPU.
void healthy_server(void)
{
	int listener = listen_low(&server_at);

	if (!fork_peer("clients")) {
		for (int i = 0; i < CONNECTIONS; i++)
			start("client", waits_for_answer, NULL);
		for (;;)
			pause();
	}
	serve(listener);
}

// The same without a request.
void idle_connections(void)
{
	int listener = listen_low(&server_at);

	if (!fork_peer("clients")) {
		for (int i = 0; i < CONNECTIONS; i++)
			connect_to(&server_at);
		for (;;)
			pause();
	}
	serve(listener);
}
