// SPDX-License-Identifier: Apache-2.0
// Work of many sorts for a recording to show. What a mode prints is what it knows of itself, a line each: "what tid other
// cpu start_ns end_ns", by CLOCK_MONOTONIC.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef long long ns_t;

static ns_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static int tid(void)
{
	return syscall(SYS_gettid);
}

static void report(const char *what, int who, int other, int cpu, ns_t from, ns_t to)
{
	printf("%s %d %d %d %lld %lld\n", what, who, other, cpu, from, to);
}

static void must(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void nap_us(long us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	while (nanosleep(&ts, &ts))
		;
}

static void spin_us(long us)
{
	ns_t end = now() + us * 1000LL;

	while (now() < end)
		;
}

static void pingpong(int rounds)
{
	int there[2], back[2];
	char c = 0;

	must(!pipe(there) && !pipe(back), "pipe");
	if (fork() == 0) {
		close(there[1]);
		while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
			;
		_exit(0);
	}
	for (int i = 0; i < rounds; i++)
		must(write(there[1], &c, 1) == 1 && read(back[0], &c, 1) == 1, "pipe");
	close(there[1]);
	wait(NULL);
}

static void storm(int processes)
{
	for (int i = 0; i < processes; i++) {
		pid_t child = fork();

		must(child >= 0, "fork");
		if (child == 0) {
			if (i % 2)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		if (i % 4 == 3)
			while (wait(NULL) > 0)
				;
	}
	while (wait(NULL) > 0)
		;
}

static void *renamed(void *unused)
{
	char name[16];

	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		prctl(PR_SET_NAME, name);
		nap_us(100);
	}
	return unused;
}

static void *executes(void *unused)
{
	nap_us(2000);
	execl("/proc/self/exe", "busy", "nap", NULL);
	exit(1);
	return unused;
}

static void names(int executing)
{
	pthread_t t;

	must(!pthread_create(&t, NULL, executing ? executes : renamed, NULL), "pthread_create");
	pthread_join(t, NULL);
}

// Names that are no text: not UTF-8, quotes, ends of lines, control characters, and what HTML and shells take apart.
static void bytes(void)
{
	static const char *const odd[] = {
		"\xff\xfe\x80", "a\"b\\c", "two\nlines\r", "tab\tbell\a", "\x01\x02\x1b[31m", "\x7f", "<b>&amp;'", "\xc3(", "\xed\xa0\x80",
		"\xe2\x82", "\xf0\x9f\x98\x80 ok", "cut \xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80", " ", "null", "{\"ts\":0}",
	};

	for (unsigned i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		prctl(PR_SET_NAME, odd[i]);
		nap_us(200);
		if (fork() == 0)
			_exit(0);
		wait(NULL);
	}
}

static void sleeps(void)
{
	for (int i = 0; i < 10; i++) {
		ns_t from = now();

		nap_us(10000);
		report("sleep", tid(), 0, -1, from, now());
	}
}

static int lane[2];
static atomic_int sleeper, taken;

static void *waits(void *unused)
{
	char c;

	sleeper = tid();
	while (read(lane[0], &c, 1) == 1)
		taken++;
	return unused;
}

static int is_asleep(int who)
{
	char path[64], text[256] = "";
	int fd, n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", who);
	fd = open(path, O_RDONLY);
	must(fd >= 0, path);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 && strstr(text, ") S ") != NULL;
}

static void wakes(void)
{
	pthread_t t;

	must(!pipe(lane) && !pthread_create(&t, NULL, waits, NULL), "waits");
	for (int i = 0; i < 20; i++) {
		while (!sleeper || !is_asleep(sleeper))
			nap_us(500);
		nap_us(2000);
		ns_t from = now();
		must(write(lane[1], "", 1) == 1, "write");
		while (taken <= i)
			nap_us(100);
		report("woken", sleeper, tid(), -1, from, now());
	}
	close(lane[1]);
	pthread_join(t, NULL);
}

static int the_cpu;
static atomic_int victim, done;

static void on_the_cpu(int prio)
{
	struct sched_param p = { .sched_priority = prio };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(the_cpu, &one);
	must(!sched_setaffinity(0, sizeof(one), &one) && !sched_setscheduler(0, SCHED_FIFO, &p), "SCHED_FIFO");
}

static void *spins(void *unused)
{
	on_the_cpu(1);
	victim = tid();
	while (!done)
		;
	return unused;
}

static void *preempts(void *unused)
{
	on_the_cpu(2);
	while (!victim)
		nap_us(100);
	for (int i = 0; i < 20; i++) {
		nap_us(3000);
		ns_t from = now();
		spin_us(1000);
		report("preempted", victim, tid(), the_cpu, from, now());
	}
	done = 1;
	return unused;
}

static void preempted(void)
{
	pthread_t a, b;

	the_cpu = sched_getcpu();
	must(!pthread_create(&b, NULL, preempts, NULL) && !pthread_create(&a, NULL, spins, NULL), "pthread_create");
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(mode, "nap"))
		nap_us(1000);
	else if (!strcmp(mode, "pingpong"))
		pingpong(n);
	else if (!strcmp(mode, "storm"))
		storm(n);
	else if (!strcmp(mode, "names"))
		names(0);
	else if (!strcmp(mode, "execs"))
		names(1);
	else if (!strcmp(mode, "bytes"))
		bytes();
	else if (!strcmp(mode, "sleeps"))
		sleeps();
	else if (!strcmp(mode, "wakes"))
		wakes();
	else if (!strcmp(mode, "preempted"))
		preempted();
	else
		return 2;
	return 0;
}
