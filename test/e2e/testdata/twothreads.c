/* Two threads that print their ids and then wake up every few milliseconds. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *run(void *unused)
{
	printf("%ld\n", syscall(SYS_gettid));
	fflush(stdout);
	for (;;)
		usleep(3000);
}

int main(void)
{
	pthread_t other;

	pthread_create(&other, NULL, run, NULL);
	run(NULL);
}
