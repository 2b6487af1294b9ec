// SPDX-License-Identifier: Apache-2.0
// Threads that sleep, and two that pass a byte back and forth. Each stores, again and again, the kernel's count of switches
// from it (getrusage(2)): stamps FILE SECONDS. FILE holds an array of struct log, with count stamps each.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 5, STAMPS = 20000, SLEEPERS = 3 };

struct stamp {
	int64_t at;   // CLOCK_MONOTONIC, ns
	int64_t left; // times that the thread has left its CPU before that
};

struct log {
	int64_t tid;
	_Atomic int64_t count;
	struct stamp stamps[STAMPS];
};

static struct log *logs;
static int there[2], back[2];

static int64_t left(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

// The count holds at the time only if nothing happened between the two.
static void note(struct log *log)
{
	struct stamp *stamp = &log->stamps[log->count];

	if (log->count == STAMPS)
		return;
	do {
		stamp->left = left();
		stamp->at = now();
	} while (left() != stamp->left);
	atomic_fetch_add(&log->count, 1);
}

static void nap(int us)
{
	struct timespec ts = { 0, us * 1000L };

	nanosleep(&ts, NULL);
}

static void *work(void *arg)
{
	int me = (intptr_t)arg;
	struct log *log = &logs[me];
	char byte = 0;

	log->tid = syscall(SYS_gettid);
	for (int i = 0;; i++) {
		note(log);
		if (me < SLEEPERS) {
			nap(500 + (i * 379 + me * 1000) % 2500);
			continue;
		}
		for (int n = 0; n < 50; n++) {
			if (me == SLEEPERS) {
				if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
					exit(1);
			} else if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1) {
				exit(1);
			}
		}
		if (me == SLEEPERS)
			nap(2000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;

	if (fd < 0 || ftruncate(fd, THREADS * sizeof(struct log)) || pipe(there) || pipe(back))
		return 1;
	logs = mmap(NULL, THREADS * sizeof(struct log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (logs == MAP_FAILED)
		return 1;
	for (intptr_t i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, (void *)i))
			return 1;
	}
	nap(0);
	sleep(atoi(argv[2]));
	return 0;
}
