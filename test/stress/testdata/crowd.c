/*
 * COUNT threads, alive at once, each under a name of its own. It prints "ready" when all are asleep. For each line on
 * standard input every thread sleeps NAPS times, counts how often the kernel has switched away from it between two
 * moments, and goes back to sleep; then it prints "TID SWITCHES FROM TO", times in ns of CLOCK_MONOTONIC, for each, and
 * "done".
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct thread {
	int index, tid;
	long switches, from, to;
};

static int count, naps;
static int arrived;
static unsigned long turn;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER, all = PTHREAD_COND_INITIALIZER;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* How often the kernel has switched away from this thread, and a time for which the number holds. */
static long switches(long *at)
{
	struct rusage before, after;

	do {
		getrusage(RUSAGE_THREAD, &before);
		*at = now();
		getrusage(RUSAGE_THREAD, &after);
	} while (before.ru_nvcsw != after.ru_nvcsw || before.ru_nivcsw != after.ru_nivcsw);
	return after.ru_nvcsw + after.ru_nivcsw;
}

static void await(unsigned long next)
{
	pthread_mutex_lock(&lock);
	if (++arrived == count)
		pthread_cond_signal(&all);
	while (turn < next)
		pthread_cond_wait(&go, &lock);
	pthread_mutex_unlock(&lock);
}

static void *run(void *arg)
{
	struct thread *t = arg;
	char name[16];

	snprintf(name, sizeof(name), "crowd-%05d", t->index);
	prctl(PR_SET_NAME, name);
	t->tid = syscall(SYS_gettid);
	for (unsigned long next = 1;; next++) {
		await(next);
		long before = switches(&t->from);
		for (int i = 0; i < naps; i++)
			nanosleep(&(struct timespec){0, 1000000}, NULL);
		t->switches = switches(&t->to) - before;
	}
	return NULL;
}

static void gather(void)
{
	pthread_mutex_lock(&lock);
	while (arrived < count)
		pthread_cond_wait(&all, &lock);
	arrived = 0;
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	struct thread *threads;
	pthread_attr_t small;
	char line[16];

	count = atoi(argv[1]);
	naps = atoi(argv[2]);
	threads = calloc(count, sizeof(*threads));
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 0; i < count; i++) {
		pthread_t id;

		threads[i].index = i;
		if (pthread_create(&id, &small, run, &threads[i])) {
			fprintf(stderr, "no more than %d threads\n", i);
			return 1;
		}
	}
	gather();
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		pthread_mutex_lock(&lock);
		turn++;
		pthread_cond_broadcast(&go);
		pthread_mutex_unlock(&lock);
		gather();
		for (int i = 0; i < count; i++)
			printf("%d %ld %ld %ld\n", threads[i].tid, threads[i].switches, threads[i].from, threads[i].to);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
