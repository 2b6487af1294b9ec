// Two threads take turns through pipes: each spins for 200 us, lets the other one go on, and waits for it.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int ab[2], ba[2];

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

__attribute__((noinline)) static void spin(void) {
	for (int64_t end = now() + 200000; now() < end;)
		;
}

static void turns(int in, int out, int begins) {
	char c = 0;
	for (int i = 0; i < 100; i++) {
		if (!begins || i > 0)
			if (read(in, &c, 1) != 1) exit(1);
		spin();
		if (write(out, &c, 1) != 1) exit(1);
	}
}

static void *other(void *arg) {
	turns(ab[0], ba[1], 0);
	return arg;
}

int main(void) {
	pthread_t t;
	if (pipe(ab) || pipe(ba) || pthread_create(&t, NULL, other, NULL)) return 1;
	turns(ba[0], ab[1], 1);
	pthread_join(t, NULL);
	return 0;
}
