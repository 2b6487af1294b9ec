/* Threads that sleep 1 to 5 ms again and again, until the program is killed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *sleeper(void *arg)
{
	unsigned int seed = (long)arg;

	for (;;) {
		seed = seed * 1103515245 + 12345;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 + (seed >> 8) % 4000000 }, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 2000;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (long i = 0; i < threads; i++) {
		pthread_t id;

		if (pthread_create(&id, &attr, sleeper, (void *)i)) {
			perror("pthread_create");
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
