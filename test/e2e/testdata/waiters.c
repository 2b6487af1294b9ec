// SPDX-License-Identifier: Apache-2.0
// Threads that each wait for one kind of thing, again and again for about 10 ms; with the argument "stay" for as long as the program runs.
// Prints "thread TID CLASS CALL OBJECT" for each, then "ready". CLASS has _ for spaces, OBJECT is a socket's other end, a path, the
// address of a futex, or -.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_US = 10000, STAY_S = 1000 };

static int stays;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inherits;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int pipes[2], full[2], event, timer, ep, listener, lock_held, lock_wanted;
static int client[2], polled[2], sending[2], unixes[2]; // each two ends of a connection
static int ports[2];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

#define TRY(call) ({ long r = (call); if (r < 0) fail(#call); r; })

static void report(const char *class, const char *call, const char *object)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

	prctl(PR_SET_NAME, class);
	pthread_mutex_lock(&one);
	printf("thread %d %s %s %s\n", (int)gettid(), class, call, object);
	fflush(stdout);
	pthread_mutex_unlock(&one);
}

static void report_address(const char *class, const char *call, void *at)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%lx", (unsigned long)at);
	report(class, call, text);
}

static void report_port(const char *class, const char *call, int port)
{
	char text[32];

	snprintf(text, sizeof(text), "127.0.0.1:%d", port);
	report(class, call, text);
}

#define WAITER(name) static __attribute__((noreturn)) void *name(void *unused)

WAITER(locks)
{
	report_address("lock", "futex", &mutex);
	for (;;) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		usleep(1);
	}
}

WAITER(locks_pi)
{
	report_address("lock", "futex", &inherits);
	for (;;) {
		pthread_mutex_lock(&inherits);
		pthread_mutex_unlock(&inherits);
		usleep(1);
	}
}

WAITER(reads_lock)
{
	report("lock", "futex", "-");
	for (;;) {
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
		usleep(1);
	}
}

WAITER(waits_cond)
{
	report("condition", "futex", "-");
	pthread_mutex_lock(&guard);
	for (;;)
		pthread_cond_wait(&cond, &guard);
}

WAITER(waits_sem)
{
	report("condition", "futex", "-");
	for (;;)
		sem_wait(&semaphore);
}

WAITER(receives)
{
	char c;

	report_port("receive", "recvfrom", ports[0]);
	for (;;)
		TRY(recv(client[0], &c, 1, 0));
}

WAITER(polls_one)
{
	struct pollfd p = {.fd = polled[0], .events = POLLIN};
	char c;

	report_port("receive", "poll", ports[0]);
	for (;;) {
		poll(&p, 1, -1);
		recv(polled[0], &c, 1, 0);
	}
}

WAITER(sends)
{
	static char block[1 << 16];

	report("send", "sendto", "-");
	for (;;)
		TRY(send(sending[1], block, sizeof(block), 0));
}

WAITER(accepts)
{
	report("accept", "accept", "-");
	for (;;)
		close(TRY(accept(listener, NULL, NULL)));
}

WAITER(receives_unix)
{
	char c;

	report("receive", "read", "-");
	for (;;)
		TRY(read(unixes[0], &c, 1));
}

WAITER(polls_epoll)
{
	struct epoll_event e;

	report("poll", "epoll_wait", "epoll");
	for (;;)
		epoll_wait(ep, &e, 1, stays ? -1 : 10);
}

WAITER(selects)
{
	report("timer", "select", "-"); // of no descriptor
	for (;;) {
		struct timeval t = {.tv_usec = PAUSE_US};

		if (stays)
			t.tv_sec = STAY_S;
		select(0, NULL, NULL, NULL, &t);
	}
}

WAITER(sleeps)
{
	report("timer", "clock_nanosleep", "-");
	for (;;) {
		struct timespec t = {.tv_nsec = PAUSE_US * 1000};

		if (stays)
			t.tv_sec = STAY_S;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	}
}

WAITER(reads_timer)
{
	unsigned long n;

	report("timer", "read", "timerfd");
	for (;;)
		TRY(read(timer, &n, sizeof(n)));
}

WAITER(reads_pipe)
{
	char c;

	report("pipe", "read", "pipe");
	for (;;)
		TRY(read(pipes[0], &c, 1));
}

WAITER(writes_pipe)
{
	static char block[4096];

	report("pipe", "write", "pipe");
	for (;;)
		TRY(write(full[1], block, sizeof(block)));
}

WAITER(reads_event)
{
	unsigned long n;

	report("condition", "read", "eventfd");
	for (;;)
		TRY(read(event, &n, sizeof(n)));
}

WAITER(reads_terminal)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), fd;
	char name[64];

	if (master < 0) // the file system of terminals is not mounted
		pthread_exit(NULL);
	grantpt(master);
	unlockpt(master);
	if (ptsname_r(master, name, sizeof(name)))
		fail("ptsname_r");
	fd = TRY(open(name, O_RDWR | O_NOCTTY));
	report("terminal", stays ? "read" : "poll", name);
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		char c;

		if (stays)
			read(fd, &c, 1);
		else
			poll(&p, 1, 10);
	}
}

WAITER(waits_child)
{
	report("child", "wait4", "-");
	for (;;) {
		pid_t child = TRY(fork());

		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (; stays;)
				pause();
			usleep(PAUSE_US);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

WAITER(waits_signal)
{
	struct timespec t = {.tv_nsec = PAUSE_US * 1000};
	sigset_t set;

	if (stays)
		t.tv_sec = STAY_S;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	report("signal", "rt_sigtimedwait", "-");
	for (;;)
		sigtimedwait(&set, NULL, &t);
}

WAITER(locks_file)
{
	report("lock", "flock", "-");
	for (;;) {
		TRY(flock(lock_wanted, LOCK_EX));
		TRY(flock(lock_wanted, LOCK_UN));
		usleep(1);
	}
}

static void connect_pair(int pair[2], int port_of[2])
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, peer;
	socklen_t length = sizeof(a);
	int fd = TRY(socket(AF_INET, SOCK_STREAM, 0));

	TRY(bind(fd, (struct sockaddr *)&a, sizeof(a)));
	TRY(listen(fd, 8));
	TRY(getsockname(fd, (struct sockaddr *)&a, &length));
	pair[0] = TRY(socket(AF_INET, SOCK_STREAM, 0));
	TRY(connect(pair[0], (struct sockaddr *)&a, sizeof(a)));
	length = sizeof(peer);
	pair[1] = TRY(accept(fd, (struct sockaddr *)&peer, &length));
	port_of[0] = ntohs(a.sin_port);
	port_of[1] = ntohs(peer.sin_port);
	close(fd);
}

static void hold_all(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_lock(&inherits);
	pthread_rwlock_wrlock(&rwlock);
	TRY(flock(lock_held, LOCK_EX));
}

static void release_all(void)
{
	pthread_mutex_unlock(&mutex);
	pthread_mutex_unlock(&inherits);
	pthread_rwlock_unlock(&rwlock);
	TRY(flock(lock_held, LOCK_UN));
}

static void start(void *(*work)(void *))
{
	pthread_t t;

	if (pthread_create(&t, NULL, work, NULL))
		fail("pthread_create");
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/wprof-waiters-XXXXXX", byte = 'x';
	static char drained[1 << 20];
	struct itimerspec tick = {.it_interval.tv_nsec = PAUSE_US * 1000, .it_value.tv_nsec = PAUSE_US * 1000};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	pthread_mutexattr_t attr;
	socklen_t length = sizeof(a);
	int unused[2];

	stays = argc > 1 && !strcmp(argv[1], "stay");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inherits, &attr);
	sem_init(&semaphore, 0, 0);
	lock_held = TRY(mkstemp(path));
	lock_wanted = TRY(open(path, O_RDWR));
	unlink(path);
	TRY(pipe(pipes));
	TRY(pipe(full));
	fcntl(full[1], F_SETPIPE_SZ, 4096);
	event = TRY(eventfd(0, 0));
	timer = TRY(timerfd_create(CLOCK_MONOTONIC, 0));
	if (!stays)
		TRY(timerfd_settime(timer, 0, &tick, NULL));
	ep = TRY(epoll_create1(0));
	listener = TRY(socket(AF_INET, SOCK_STREAM, 0));
	TRY(bind(listener, (struct sockaddr *)&a, sizeof(a)));
	TRY(listen(listener, 8));
	TRY(getsockname(listener, (struct sockaddr *)&a, &length));
	TRY(socketpair(AF_UNIX, SOCK_STREAM, 0, unixes));
	connect_pair(client, ports);
	start(receives);
	usleep(20000); // reports its port
	connect_pair(polled, ports);
	start(polls_one);
	usleep(20000);
	connect_pair(sending, unused);
	hold_all();
	start(locks);
	start(locks_pi);
	start(reads_lock);
	start(waits_cond);
	start(waits_sem);
	start(sends);
	start(accepts);
	start(receives_unix);
	start(polls_epoll);
	start(selects);
	start(sleeps);
	start(reads_timer);
	start(reads_pipe);
	start(writes_pipe);
	start(reads_event);
	start(reads_terminal);
	start(waits_child);
	start(waits_signal);
	start(locks_file);
	usleep(100000);
	printf("ready\n");
	fflush(stdout);
	if (stays)
		pause();
	for (;;) {
		unsigned long one = 1;
		int fd;

		usleep(PAUSE_US);
		release_all();
		usleep(1000);
		hold_all();
		pthread_cond_signal(&cond);
		sem_post(&semaphore);
		TRY(send(client[1], &byte, 1, 0));
		TRY(send(polled[1], &byte, 1, 0));
		recv(sending[0], drained, sizeof(drained), MSG_DONTWAIT);
		TRY(write(unixes[1], &byte, 1));
		TRY(write(pipes[1], &byte, 1));
		TRY(write(event, &one, sizeof(one)));
		TRY(read(full[0], drained, sizeof(drained)));
		fd = TRY(socket(AF_INET, SOCK_STREAM, 0));
		TRY(connect(fd, (struct sockaddr *)&a, sizeof(a)));
		close(fd);
	}
}
