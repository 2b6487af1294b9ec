// hive does a little of everything that the queries are about, for about a second: two processes that wake each other, a
// greedy one with a bad nice value, a real-time thread on the same CPU, and CHILDREN short processes called hive-child.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN = 60, TURNS = 3000, WAKES = 300 };

static void name(const char *s) { prctl(PR_SET_NAME, s); }

static void sleep_us(long us) {
	struct timespec t = {us / 1000000, us % 1000000 * 1000};
	nanosleep(&t, NULL);
}

static void pin(void) {
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof set, &set);
}

static pid_t spawn(void (*body)(void), const char *called) {
	pid_t pid = fork();
	if (pid == 0) {
		name(called);
		body();
		_exit(0);
	}
	return pid;
}

static void burn(void) {
	volatile unsigned long n = 0;
	setpriority(PRIO_PROCESS, 0, 10);
	for (;;)
		n++;
}

static void child(void) { sleep_us(500); }

static void *punctual(void *unused) {
	struct sched_param p = {.sched_priority = 10};
	name("hive-rt");
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &p);
	for (int i = 0; i < WAKES; i++)
		sleep_us(1000);
	return unused;
}

static int there[2], back[2];

static void echo(void) {
	char c;
	for (int i = 0; i < TURNS; i++)
		if (read(there[0], &c, 1) != 1 || write(back[1], &c, 1) != 1)
			_exit(1);
}

// Both threads change the mappings of the process all the time: one of them waits for the kernel's lock of these.
static void *maps(void *unused) {
	for (int i = 0; i < 5000; i++) {
		void *page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page == MAP_FAILED)
			_exit(1);
		*(volatile char *)page = 1;
		munmap(page, 1 << 20);
	}
	return unused;
}

static void contend(void) {
	pthread_t other;
	if (pthread_create(&other, NULL, maps, NULL))
		_exit(1);
	maps(NULL);
	pthread_join(other, NULL);
}

int main(void) {
	char c = 0;
	pthread_t rt;
	if (pipe(there) || pipe(back))
		return 1;
	pid_t other = spawn(echo, "hive-echo");
	for (int i = 0; i < TURNS; i++)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			return 1;
	waitpid(other, NULL, 0);
	waitpid(spawn(contend, "hive-maps"), NULL, 0);
	for (int i = 0; i < CHILDREN; i++)
		waitpid(spawn(child, "hive-child"), NULL, 0);
	pin();
	pid_t burner = spawn(burn, "hive-burner");
	if (pthread_create(&rt, NULL, punctual, NULL))
		return 1;
	pthread_join(rt, NULL);
	kill(burner, 9);
	waitpid(burner, NULL, 0);
	return 0;
}
