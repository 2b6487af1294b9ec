/* Threads of known behaviour, which measure for themselves what they do.
 *
 *   known SECONDS FOLDER
 *
 * Prints "ready", waits for a line, and works so long. Then a line a thread: name, tid, begin and end (CLOCK_MONOTONIC ns),
 * CPU time, and time off the CPU in nanosleep, futex, read and fsync (ns); then "done". Ends with its standard input.
 *
 * Time off the CPU in a call is the time between call and return less the thread's CPU time in it. So it includes how long
 * the thread waited for a CPU when it could return.
 */
#define _GNU_SOURCE
#include <fcntl.h>
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
	long long in_wall, in_cpu; /* at the call that is under way */
};

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, alone = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
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

static void enter(struct thread *t)
{
	t->in_wall = now(CLOCK_MONOTONIC);
	t->in_cpu = now(CLOCK_THREAD_CPUTIME_ID);
}

static void leave(struct thread *t, enum call call)
{
	long long cpu = now(CLOCK_THREAD_CPUTIME_ID) - t->in_cpu;

	t->off[call] += now(CLOCK_MONOTONIC) - t->in_wall - cpu;
}

static int goes_on(void) { return now(CLOCK_MONOTONIC) < deadline; }

static void nap(struct thread *t, long long ns)
{
	struct timespec d = { ns / (1000 * MS), ns % (1000 * MS) };

	enter(t);
	nanosleep(&d, NULL);
	leave(t, NANOSLEEP);
}

/* spin takes so much CPU time. */
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

/* Sleeps for half of the time, and waits for what never comes for the other half. */
static void nap50(struct thread *t)
{
	while (goes_on()) {
		nap(t, 50 * MS);
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		if ((until.tv_nsec += 50 * MS) >= 1000 * MS) {
			until.tv_nsec -= 1000 * MS;
			until.tv_sec++;
		}
		enter(t);
		pthread_mutex_lock(&alone);
		pthread_cond_timedwait(&never, &alone, &until);
		pthread_mutex_unlock(&alone);
		leave(t, FUTEX);
	}
}

/* Has the lock for six tenths of the time. */
static void holder(struct thread *t)
{
	while (goes_on()) {
		enter(t);
		pthread_mutex_lock(&held);
		leave(t, FUTEX);
		nap(t, 60 * MS);
		pthread_mutex_unlock(&held);
		nap(t, 40 * MS);
	}
}

/* Wants the lock, works with it for a moment, and pauses. */
static void waiter(struct thread *t)
{
	while (goes_on()) {
		enter(t);
		pthread_mutex_lock(&held);
		leave(t, FUTEX);
		spin(2 * MS);
		pthread_mutex_unlock(&held);
		nap(t, 8 * MS);
	}
}

static void reader(struct thread *t)
{
	char c;

	for (;;) {
		enter(t);
		ssize_t n = read(feed[0], &c, 1);
		leave(t, READ);
		if (n != 1)
			return;
		spin(3 * MS);
	}
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

static void syncer(struct thread *t)
{
	char path[4096];
	static char block[64 << 10];

	snprintf(path, sizeof path, "%s/synced", folder);
	int f = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	while (f >= 0 && goes_on()) {
		if (pwrite(f, block, sizeof block, 0) != sizeof block)
			break;
		enter(t);
		fsync(f);
		leave(t, FSYNC);
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
