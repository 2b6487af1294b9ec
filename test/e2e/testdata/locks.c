// SPDX-License-Identifier: Apache-2.0
// Threads that contend for one mutex; each prints for how long it waited for it.
#define _GNU_SOURCE
#include <pthread.h>
#include "locks.h"

enum { THREADS = 4, ROUNDS = 60 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct watch watches[THREADS];

static __attribute__((noinline)) void enter(void) { pthread_mutex_lock(&mutex); }

static void *contend(void *arg)
{
	struct watch *w = arg;

	watch_open(w);
	for (int i = 0; i < ROUNDS; i++) {
		watch_begin(w);
		enter();
		watch_end(w);
		hold();
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	char object[32];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, contend, &watches[i]))
			abort();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	snprintf(object, sizeof(object), "0x%lx", (unsigned long)&mutex);
	for (int i = 0; i < THREADS; i++)
		watch_print(&watches[i], object);
	return 0;
}
