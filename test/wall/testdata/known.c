/* Threads of known behaviour, which measure for themselves what they do.
 *
 *   known SECONDS FOLDER
 *
 * Prints "ready", waits for a line, and works for SECONDS. Then a line a thread: name, tid, begin and end (CLOCK_MONOTONIC ns),
 * CPU time, and time off the CPU in nanosleep, futex, read and fsync (ns); then "done". Ends with its standard input.
 *
 * Time off the CPU in a call is the time between call and return less the thread's CPU time in it. So it includes how long
 * the thread waited for a CPU when it could return.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000LL

enum call { NANOSLEEP, FUTEX, READ, FSYNC, CALLS };

struct thread {
	const char *name;
	void (*work)(struct thread *);
	pthread_t id;
	int tid;
	long long begin, end, cpu;
	long long off[CALLS];
};

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;
static long long deadline;
static double seconds;
static int feed[2];
static const char *folder;

static long long now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

/* Each measured call is in a function of its own, which is then in all of its stacks: libc's system calls have no frame
 * pointers, so the function that calls them directly is missing in stacks. */
#define MEASURED(call, index) \
	static __attribute__((noinline)) void in_##call(struct thread *t, struct arguments *a) \
	{ \
		long long wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID); \
		call_##call(a); \
		cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu; \
		t->off[index] += now(CLOCK_MONOTONIC) - wall - cpu; \
	}

#define CALL(call) static __attribute__((noinline)) void call_##call(struct arguments *a)

struct arguments {
	struct timespec time;
	pthread_mutex_t *lock; /* NULL: wait for a wakeup that never comes */
	int file;
	ssize_t result;
};

CALL(nanosleep) { a->result = nanosleep(&a->time, NULL); }
CALL(read)
{
	char c;

	a->result = read(a->file, &c, 1);
}
CALL(fsync) { a->result = fsync(a->file); }
CALL(futex)
{
	static int never;

	if (a->lock)
		a->result = pthread_mutex_lock(a->lock);
	else /* libc's timed waits use the register of the frame pointer for something else */
		a->result = syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, &a->time, NULL, 0);
}

MEASURED(nanosleep, NANOSLEEP)
MEASURED(futex, FUTEX)
MEASURED(read, READ)
MEASURED(fsync, FSYNC)

static int goes_on(void) { return now(CLOCK_MONOTONIC) < deadline; }

static void nap(struct thread *t, long long ns)
{
	struct arguments a = { .time = { ns / (1000 * MS), ns % (1000 * MS) } };

	in_nanosleep(t, &a);
}

static void take(struct thread *t, pthread_mutex_t *lock)
{
	struct arguments a = { .lock = lock };

	in_futex(t, &a);
}

/* spin uses that much CPU time. */
static void spin(long long ns)
{
	long long end = now(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 20000; i++)
			;
}

/* Spins for 30% of the time. */
static void spin30(struct thread *t)
{
	for (long long next = t->begin + 100 * MS; goes_on(); next += 100 * MS) {
		spin(30 * MS);
		long long left = next - now(CLOCK_MONOTONIC);
		if (left > 0)
			nap(t, left);
	}
}

/* Sleeps for half of the time, and waits for a wakeup that never comes for the other half. */
static void nap50(struct thread *t)
{
	while (goes_on()) {
		nap(t, 50 * MS);
		struct arguments a = { .time = { 0, 50 * MS } };
		in_futex(t, &a);
	}
}

/* Has the lock for six tenths of the time. */
static void holder(struct thread *t)
{
	while (goes_on()) {
		take(t, &held);
		nap(t, 60 * MS);
		pthread_mutex_unlock(&held);
		nap(t, 40 * MS);
	}
}

/* Wants the lock, works with it for a moment, and pauses. */
static void waiter(struct thread *t)
{
	while (goes_on()) {
		take(t, &held);
		spin(2 * MS);
		pthread_mutex_unlock(&held);
		nap(t, 8 * MS);
	}
}

static void reader(struct thread *t)
{
	struct arguments a = { .file = feed[0] };

	while (in_read(t, &a), a.result == 1)
		spin(3 * MS);
}

/* Gives the reader something every 20 ms, and its end at last. */
static void feeder(struct thread *t)
{
	while (goes_on()) {
		nap(t, 20 * MS);
		if (write(feed[1], "", 1) != 1)
			break;
	}
	close(feed[1]);
}

/* Not too often: on an idle CPU the kernel counts as CPU time also the time from the waking, within an interrupt, to the
 * thread's first instruction, up to tens of microseconds for each wait, in which the thread does not run yet. */
static void syncer(struct thread *t)
{
	char path[4096];
	static char block[1 << 20];

	snprintf(path, sizeof path, "%s/synced", folder);
	int f = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	struct arguments a = { .file = f };
	while (f >= 0 && goes_on()) {
		if (pwrite(f, block, sizeof block, 0) != sizeof block)
			break;
		in_fsync(t, &a);
		nap(t, 10 * MS);
	}
	unlink(path);
	close(f);
}

static struct thread threads[] = {
	{ "spin30", spin30 }, { "nap50", nap50 }, { "holder", holder }, { "waiter", waiter },
	{ "reader", reader }, { "feeder", feeder }, { "syncer", syncer },
};
enum { THREADS = sizeof threads / sizeof threads[0] };

static void *run(void *arg)
{
	struct thread *t = arg;

	pthread_setname_np(pthread_self(), t->name);
	t->tid = syscall(SYS_gettid);
	pthread_barrier_wait(&start); /* named, and at rest */
	pthread_barrier_wait(&start);
	long long cpu = now(CLOCK_THREAD_CPUTIME_ID);
	t->begin = now(CLOCK_MONOTONIC);
	t->work(t);
	t->end = now(CLOCK_MONOTONIC);
	t->cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	pause(); /* a thread that ended would be missing where the process is looked at */
	return NULL;
}

static int ended(void)
{
	for (int i = 0; i < THREADS; i++)
		if (!__atomic_load_n(&threads[i].cpu, __ATOMIC_ACQUIRE))
			return 0;
	return 1;
}

int main(int argc, char **argv)
{
	char line[16];

	if (argc != 3 || pipe(feed) || (seconds = atof(argv[1])) <= 0)
		return 2;
	folder = argv[2];
	pthread_barrier_init(&start, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i].id, NULL, run, &threads[i]))
			return 1;
	pthread_barrier_wait(&start);
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return 0;
	deadline = now(CLOCK_MONOTONIC) + seconds * 1000 * MS;
	pthread_barrier_wait(&start);
	while (!ended())
		usleep(20000);
	for (int i = 0; i < THREADS; i++) {
		struct thread *t = &threads[i];
		printf("%s %d %lld %lld %lld %lld %lld %lld %lld\n", t->name, t->tid, t->begin, t->end, t->cpu,
		       t->off[NANOSLEEP], t->off[FUTEX], t->off[READ], t->off[FSYNC]);
	}
	puts("done");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin))
		;
	return 0;
}
