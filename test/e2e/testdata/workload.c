// SPDX-License-Identifier: Apache-2.0
// A workload that measures itself: each mode prints one line for each thing it did, "what tid start_ns end_ns",
// by CLOCK_MONOTONIC, and at its end its own time on the CPU as the kernel accounts it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
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

static void report(const char *what, int who, ns_t from, ns_t to)
{
	printf("%s %d %lld %lld\n", what, who, from, to);
}

static void pause_ms(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&ts, &ts))
		;
}

static void spin_ms(int ms)
{
	ns_t end = now() + ms * 1000000LL;

	while (now() < end)
		;
}

static ns_t schedstat(void)
{
	char line[128] = "";
	int fd = open("/proc/thread-self/schedstat", O_RDONLY);

	if (fd < 0 || read(fd, line, sizeof(line) - 1) <= 0)
		exit(1);
	close(fd);
	return atoll(line);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		exit(1);
}

static void spin(void)
{
	ns_t from = now();

	spin_ms(1500);
	report("spun", tid(), 0, schedstat());
	report("cpu", tid(), 0, schedstat());
	report("spin", tid(), from, now());
}

// Sleeps of 20 ms, one after the other.
static void nap(void)
{
	for (int i = 0; i < 20; i++) {
		ns_t from = now();

		pause_ms(20);
		report("sleep", tid(), from, now());
	}
}

// A parent waits for a vfork child without being interruptible.
static void blocked(void)
{
	for (int i = 0; i < 5; i++) {
		ns_t from = now();
		pid_t child = vfork();

		if (!child) {
			struct timespec ts = { 0, 40000000 };

			nanosleep(&ts, NULL);
			_exit(0);
		}
		report("blocked", tid(), from, now());
		waitpid(child, NULL, 0);
	}
}

// A child that only sleeps is stopped for 60 ms five times.
static void stopped(void)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			spin_ms(1), pause_ms(1);
	}
	for (int i = 0; i < 5; i++) {
		ns_t from;
		int status;

		pause_ms(20);
		kill(child, SIGSTOP);
		waitpid(child, &status, WUNTRACED);
		from = now();
		pause_ms(60);
		report("stopped", child, from, now());
		kill(child, SIGCONT);
		waitpid(child, &status, WCONTINUED);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

// Two processes want the same CPU for 400 ms.
static void preempted(void)
{
	pid_t child;
	ns_t from;

	pin(0);
	child = fork();
	from = now();
	spin_ms(400);
	if (!child) {
		report("cpu", tid(), 0, schedstat());
		report("pair", tid(), from, now()); // by itself: the other one may have to wait for the CPU before and after it
		exit(0);
	}
	waitpid(child, NULL, 0);
	report("cpu", tid(), 0, schedstat());
}

// Two processes pass a byte back and forth; "loops" is how often.
static void pingpong(void)
{
	int there[2], back[2], loops = 2000;
	char byte = 0;
	pid_t child;
	ns_t from = now();

	if (pipe(there) || pipe(back))
		exit(1);
	child = fork();
	if (!child) {
		for (int i = 0; i < loops; i++)
			if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
				_exit(1);
		_exit(0);
	}
	for (int i = 0; i < loops; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			exit(1);
	waitpid(child, NULL, 0);
	report("loops", child, 0, loops);
	report("pingpong", tid(), from, now());
}

// Renames itself, forks and executes.
static void life(const char *self)
{
	pid_t child;

	prctl(PR_SET_NAME, "first name");
	pause_ms(2);
	prctl(PR_SET_NAME, "second name");
	pause_ms(2);
	child = fork();
	if (!child) {
		execl(self, "workload", "nothing", NULL);
		_exit(127);
	}
	waitpid(child, NULL, 0);
	report("child", child, 0, 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(mode, "spin"))
		spin();
	else if (!strcmp(mode, "nap"))
		nap();
	else if (!strcmp(mode, "blocked"))
		blocked();
	else if (!strcmp(mode, "stopped"))
		stopped();
	else if (!strcmp(mode, "preempted"))
		preempted();
	else if (!strcmp(mode, "pingpong"))
		pingpong();
	else if (!strcmp(mode, "life"))
		life("/proc/self/exe");
	else if (strcmp(mode, "nothing"))
		return 2;
	return 0;
}
