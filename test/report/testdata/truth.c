// SPDX-License-Identifier: Apache-2.0
#include "truth.h"
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

struct span {
	const char *class;
	enum use use;
	int64_t from, to; // to is 0 while it lasts
};

struct log {
	int tid;
	char name[16];
	void *(*body)(void *);
	void *argument;
	struct span *spans;
	int used, room;
};

static struct log logs[MAX_THREADS];
static int started;
static __thread struct log *mine;

static int64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int64_t now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

void spin_ns(int64_t ns)
{
	int64_t until = read_clock(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (read_clock(CLOCK_THREAD_CPUTIME_ID) < until)
		for (volatile int i = 0; i < 1000; i++)
			;
}

void sleep_ns(int64_t ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};

	nanosleep(&t, NULL);
}

static void *run(void *log)
{
	mine = log;
	prctl(PR_SET_NAME, mine->name);
	__atomic_store_n(&mine->tid, gettid(), __ATOMIC_RELEASE);
	return mine->body(mine->argument);
}

void start(const char *name, void *(*body)(void *), void *argument)
{
	struct log *l = &logs[started++];
	pthread_attr_t attributes;
	pthread_t thread;

	snprintf(l->name, sizeof(l->name), "%s", name);
	l->body = body;
	l->argument = argument;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	TRY(-pthread_create(&thread, &attributes, run, l));
	while (!__atomic_load_n(&l->tid, __ATOMIC_ACQUIRE))
		usleep(100);
}

static void (*main_step)(void);

void repeat(void (*step)(void))
{
	main_step = step;
}

void run_main(const char *name)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	char end;

	if (!main_step) {
		(void)!read(0, &end, 1);
		return;
	}
	mine = &logs[started++];
	mine->tid = gettid();
	snprintf(mine->name, sizeof(mine->name), "%s", name);
	while (!poll(&input, 1, 0))
		main_step();
}

void begin_wait(const char *class, enum use use)
{
	if (mine->used == mine->room) {
		mine->room = mine->room ? 2 * mine->room : 64;
		mine->spans = realloc(mine->spans, mine->room * sizeof(*mine->spans));
	}
	mine->spans[mine->used] = (struct span){class, use, now_ns(), 0};
	__atomic_store_n(&mine->used, mine->used + 1, __ATOMIC_RELEASE);
}

void end_wait(void)
{
	mine->spans[mine->used - 1].to = now_ns();
}

// Time on a CPU, and time runnable without one, from proc_pid_schedstat.
static void print_sched(int tid)
{
	char path[64];
	long cpu = 0, delay = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%ld %ld", &cpu, &delay) == 2)
		printf("sched %d %ld %ld\n", tid, cpu, delay);
	if (f)
		fclose(f);
}

void print_truth(void)
{
	for (int i = 0; i < started; i++) {
		printf("thread %d %s\n", logs[i].tid, logs[i].name);
		print_sched(logs[i].tid);
		for (int j = 0; j < __atomic_load_n(&logs[i].used, __ATOMIC_ACQUIRE); j++) {
			struct span *s = &logs[i].spans[j];

			printf("span %d %s %s %ld %ld\n", logs[i].tid, s->class, s->use == FOR_WORK ? "work" : "busy", (long)s->from,
			       (long)(s->to ? s->to : INT64_MAX));
		}
	}
	printf("end\n");
	fflush(stdout);
}
