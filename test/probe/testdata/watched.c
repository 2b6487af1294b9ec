/* A program whose variables and functions breakpoints watch: it writes them as often, and with what values, as it says. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum state { IDLE, BUSY = 7, DONE };

volatile int counter = 5;		/* of all threads, one after the other */
volatile int64_t sum = -1000;
volatile unsigned char flag;
static volatile unsigned short small_one = 65535;
volatile enum state state;
volatile double ratio = 0.5;
volatile int table[8];
volatile int idle;			/* that nobody writes */
__thread volatile int own;
char buffer[8];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void write_counter(int by)
{
	counter += by;
}

__attribute__((noinline)) int called(int a, long b)
{
	__asm__ volatile("");
	return a + b;
}

static void *work(void *argument)
{
	int number = (intptr_t)argument;

	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&lock);
		write_counter(number);
		pthread_mutex_unlock(&lock);
	}
	called(number, 100);
	return NULL;
}

/* Threads 1 to n add 100 times their number, each. */
static void run_threads(int n)
{
	pthread_t threads[64];

	for (intptr_t i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void run_spans(int n)
{
	for (int i = 0; i < n; i++) {
		flag = 1;
		flag = 2;
		flag = 0;
	}
}

static void run_values(void)
{
	for (int i = 0; i < 10; i++) {
		sum = sum * -2;
		small_one = i;
		ratio = ratio + 0.25;
		state = i % 2 ? DONE : BUSY;
		table[3] = i;
		own = i;
	}
}

static void run_kernel_write(void)
{
	int fd = open("/dev/zero", O_RDONLY);

	memset(buffer, 1, sizeof(buffer));
	if (read(fd, buffer, sizeof(buffer)) != sizeof(buffer))
		exit(1);
	close(fd);
}

static void run_fork(void)
{
	pid_t child = fork();

	if (!child) {
		for (int i = 0; i < 50; i++)
			write_counter(1);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void run_loop(int n)
{
	double begin = now();

	for (int i = 0; i < n; i++)
		counter = i;
	printf("ns=%.0f\n", (now() - begin) / n);
}

static volatile int churning;

static void *churned(void *unused)
{
	pthread_mutex_lock(&lock);
	write_counter(1);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Threads that begin and end all the time until the file is there. */
static void *churn(void *file)
{
	long made = 0;

	while (access(file, F_OK)) {
		pthread_t t;

		if (!pthread_create(&t, NULL, churned, NULL)) {
			pthread_join(t, NULL);
			made++;
		}
	}
	return (void *)made;
}

static void run(char *command)
{
	int n = 1;
	char *number = strchr(command, ' ');

	if (number) {
		*number = 0;
		n = atoi(number + 1);
	}
	if (!strcmp(command, "threads"))
		run_threads(n);
	else if (!strcmp(command, "spans"))
		run_spans(n);
	else if (!strcmp(command, "values"))
		run_values();
	else if (!strcmp(command, "kernel"))
		run_kernel_write();
	else if (!strcmp(command, "fork"))
		run_fork();
	else if (!strcmp(command, "loop"))
		run_loop(n);
	else if (!strcmp(command, "churn"))
		for (int i = 0; i < 3; i++) {
			pthread_t t;

			pthread_create(&t, NULL, churn, number + 1);
		}
}

int main(int argc, char **argv)
{
	char line[256];

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "serve"))
			run(argv[i]);
	printf("counter=%d\n", counter);
	if (argc < 2 || strcmp(argv[argc - 1], "serve"))
		return 0;
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		run(line);
		printf("counter=%d\ndone\n", counter);
	}
	return 0;
}
