/*
 * Makes pairs of threads that have the same tid one after the other, by setting the id that the kernel has given last.
 * Each naps under a name of its own. Prints "TID NAPS" of each pair, of which the first thread took NAPS and the second
 * twice as many. The last id is restored at once, so that no other process gets such ids.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int file;

struct life {
	const char *name;
	int tid, naps;
};

static void *live(void *arg)
{
	struct life *l = arg;

	prctl(PR_SET_NAME, l->name);
	l->tid = syscall(SYS_gettid);
	for (int i = 0; i < l->naps; i++)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	return NULL;
}

static int last(void)
{
	char text[16] = {};

	return pread(file, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : -1;
}

static int set(int to)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", to);

	return pwrite(file, text, n, 0) == n ? 0 : -1;
}

/* A thread with the tid; false: another process was given it, or still has it. */
static int spawn(struct life *l, int tid)
{
	pthread_t thread;
	int was = last();

	if (set(tid - 1) || pthread_create(&thread, NULL, live, l))
		return 0;
	set(was);
	pthread_join(thread, NULL);
	/* Joining does not wait for the kernel to free the id. */
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/task/%d", l->tid);
	while (!access(path, F_OK))
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	return l->tid == tid;
}

int main(int argc, char **argv)
{
	int pairs = atoi(argv[1]), far;

	file = open("/proc/sys/kernel/ns_last_pid", O_RDWR);
	if (file < 0) {
		perror("ns_last_pid");
		return 1;
	}
	/* Half the id space away from the ids in current use. */
	FILE *most = fopen("/proc/sys/kernel/pid_max", "r");
	if (!most || fscanf(most, "%d", &far) != 1)
		return 1;
	int from = last() + far / 2;
	for (int done = 0, try = 0; done < pairs && try < 100 * pairs; try++) {
		/* A process created in between gets the id, and the thread the next one: no other attempt may use that. */
		int tid = 1000 + (from + 64 * try) % (far - 1000);
		struct life first = {"first-life", 0, 3}, second = {"second-life", 0, 6};

		if (!spawn(&first, tid) || !spawn(&second, tid))
			continue;
		printf("%d %d\n", tid, first.naps);
		done++;
	}
	return 0;
}
