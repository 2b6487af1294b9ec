/*
 * Two threads on each of two CPUs at most pass a byte back and forth, one pair through pipes and the next by futexes, ROUNDS
 * times, spread over MILLISECONDS (0: as fast as they can). Now and then they change their names and make a process.
 * Prints "ready" when all wait for the line on standard input that lets them begin, then for each thread
 * "TID CPU SWITCHES VOLUNTARY CALLS RENAMES FORKS FROM TO": what the kernel counted as switches away from it between the
 * two moments FROM and TO of CLOCK_MONOTONIC (ns), how many of them because it waited, and what it did itself. Then it
 * waits for the end of standard input.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct pair {
	int cpu, isFutex;
	int to[2], fro[2];
	_Atomic int turn;
};

struct thread {
	struct pair *pair;
	int second, tid;
	long switches, voluntary, calls, renames, forks, from, to;
	pthread_t id;
};

static long rounds, lengthMs;
static pthread_barrier_t begin, end;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* What the kernel counted of this thread, and a time for which the numbers hold. */
static void count(long *all, long *voluntary, long *at)
{
	struct rusage before, after;

	do {
		getrusage(RUSAGE_THREAD, &before);
		*at = now();
		getrusage(RUSAGE_THREAD, &after);
	} while (before.ru_nvcsw != after.ru_nvcsw || before.ru_nivcsw != after.ru_nivcsw);
	*all = after.ru_nvcsw + after.ru_nivcsw;
	*voluntary = after.ru_nvcsw;
}

static void hand(struct thread *t)
{
	struct pair *p = t->pair;
	char byte = 0;

	t->calls++;
	if (!p->isFutex) {
		if (write(t->second ? p->fro[1] : p->to[1], &byte, 1) != 1)
			exit(1);
		return;
	}
	atomic_store(&p->turn, !t->second);
	syscall(SYS_futex, &p->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void take(struct thread *t)
{
	struct pair *p = t->pair;
	char byte;

	if (!p->isFutex) {
		if (read(t->second ? p->to[0] : p->fro[0], &byte, 1) != 1)
			exit(1);
		return;
	}
	while (atomic_load(&p->turn) != t->second)
		syscall(SYS_futex, &p->turn, FUTEX_WAIT_PRIVATE, !t->second, NULL, NULL, 0);
}

static void besides(struct thread *t, long round)
{
	char name[16];

	if (round % 64 == 0) {
		snprintf(name, sizeof(name), "pp-%ld", round);
		prctl(PR_SET_NAME, name);
		t->renames++;
	}
	if (round % 2048 == 0 && !t->second) {
		pid_t child = vfork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
		t->forks++;
	}
}

static void *play(void *arg)
{
	struct thread *t = arg;
	long switches, voluntary, start;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(t->pair->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	setpriority(PRIO_PROCESS, 0, -20);
	t->tid = syscall(SYS_gettid);
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&begin);
	count(&switches, &voluntary, &t->from);
	start = t->from;
	for (long i = 0; i < rounds; i++) {
		if (!t->second && lengthMs && i % 64 == 0)
			while (now() - start < i * 1000000 / rounds * lengthMs)
				nanosleep(&(struct timespec){0, 1000000}, NULL);
		if (!t->second)
			hand(t);
		take(t);
		if (t->second)
			hand(t);
		besides(t, i);
	}
	count(&t->switches, &t->voluntary, &t->to);
	t->switches -= switches;
	t->voluntary -= voluntary;
	pthread_barrier_wait(&end);
	pthread_barrier_wait(&end);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct pair pairs[2];
	static struct thread threads[4];
	cpu_set_t allowed;
	char line[16];
	int n = 0;

	rounds = atol(argv[1]);
	lengthMs = atol(argv[2]);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		pairs[n].cpu = cpu;
		pairs[n].isFutex = n == 1;
		if (pipe(pairs[n].to) || pipe(pairs[n].fro))
			return 1;
		n++;
	}
	pthread_barrier_init(&begin, NULL, 2 * n + 1);
	pthread_barrier_init(&end, NULL, 2 * n + 1);
	for (int i = 0; i < 2 * n; i++) {
		threads[i].pair = &pairs[i / 2];
		threads[i].second = i % 2;
		pthread_create(&threads[i].id, NULL, play, &threads[i]);
	}
	pthread_barrier_wait(&begin);
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	for (int i = 0; i < 2 * n; i++) {
		struct thread *t = &threads[i];

		printf("%d %d %ld %ld %ld %ld %ld %ld %ld\n", t->tid, t->pair->cpu, t->switches, t->voluntary, t->calls, t->renames, t->forks, t->from, t->to);
	}
	puts("done");
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin))
		return 1;
	return 0;
}
