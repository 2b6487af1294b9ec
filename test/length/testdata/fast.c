// Two threads that pass a byte back and forth until the process is killed.
#include <pthread.h>
#include <unistd.h>

static int there[2], back[2];

static void *echo(void *arg) {
	char c;
	while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
		;
	return arg;
}

int main(void) {
	pthread_t thread;
	char c = 0;
	if (pipe(there) || pipe(back) || pthread_create(&thread, 0, echo, 0))
		return 1;
	while (write(there[1], &c, 1) == 1 && read(back[0], &c, 1) == 1)
		;
	return 0;
}
