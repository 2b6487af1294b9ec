// calls count: makes known numbers of system calls, and executes the program of the second argument, if there is one, in a child.
// calls wait: one thread reads from a pipe for ever; the main thread reads a line, and then sleeps for ever.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void must(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void *idle_calls(void *unused)
{
	for (int i = 0; i < 100; i++)
		syscall(SYS_getppid);
	return unused;
}

static void on_alarm(int signal) { (void)signal; }

/* A read of a pipe that a child interrupts by a signal, and in the end lets return by a byte. */
static void interrupted(int flags)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
	pid_t parent = getpid();
	char byte;
	long got;
	int fds[2];

	must(!pipe(fds), "pipe");
	must(!sigaction(SIGALRM, &action, NULL), "sigaction");
	if (fork() == 0) {
		usleep(400000);
		kill(parent, SIGALRM);
		usleep(400000);
		must(write(fds[1], "x", 1) == 1, "write");
		_exit(0);
	}
	got = syscall(SYS_read, fds[0], &byte, 1);
	must(flags & SA_RESTART ? got == 1 : got == -1 && errno == EINTR, "interrupted read");
	wait(NULL);
}

/* A sleep that a stop interrupts goes on by restart_syscall. */
static void stopped(void)
{
	pid_t child = fork();

	if (child == 0) {
		struct timespec time = {.tv_sec = 1, .tv_nsec = 500000000};

		syscall(SYS_nanosleep, &time, NULL);
		_exit(0);
	}
	usleep(400000);
	kill(child, SIGSTOP);
	usleep(20000);
	kill(child, SIGCONT);
	waitpid(child, NULL, 0);
}

#ifdef __x86_64__
static long int80(long number, long a, long b, long c)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

/* Calls of 32-bit code: their numbers are others. */
static void compat(void)
{
	char *path = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	must(path != MAP_FAILED, "mmap");
	strcpy(path, "/nonexistent/compat");
	for (int i = 0; i < 10; i++)
		must(int80(64, 0, 0, 0) > 0, "getppid");
	for (int i = 0; i < 7; i++)
		must(int80(5, (long)path, O_WRONLY, 0) == -ENOENT, "open");
}
#else
static void compat(void) {}
#endif

static void count(const char *program)
{
	int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY), sockets[2], *word = calloc(1, sizeof(*word));
	struct timespec time = {.tv_nsec = 1000};
	pthread_t threads[2];
	char byte = 0;

	must(zero >= 0 && null >= 0, "open");
	for (int i = 0; i < 1000; i++)
		syscall(SYS_read, zero, &byte, 1);
	for (int i = 0; i < 500; i++)
		syscall(SYS_write, null, &byte, 1);
	for (int i = 0; i < 300; i++)
		syscall(SYS_openat, AT_FDCWD, "/nonexistent/wprof", O_RDWR | O_CLOEXEC, 0);
	for (int i = 0; i < 50; i++)
		syscall(SYS_nanosleep, &time, NULL);
	for (int i = 0; i < 100; i++)
		syscall(SYS_futex, word, 1 | 128, 1, NULL, NULL, 0); /* FUTEX_WAKE_PRIVATE */
	for (int i = 0; i < 20; i++)
		syscall(SYS_close, 12345);
	for (int i = 0; i < 64; i++)
		syscall(SYS_close, dup(zero));
	syscall(600); /* there is no such call */
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "socketpair");
	for (int i = 0; i < 3; i++)
		must(syscall(SYS_sendto, sockets[0], &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0) == 1, "sendto");
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, idle_calls, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	interrupted(0);
	interrupted(SA_RESTART);
	stopped();
	compat();
	if (fork() == 0) {
		idle_calls(NULL);
		if (program)
			execl(program, program, NULL);
		_exit(0);
	}
	wait(NULL);
}

static void *read_for_ever(void *fd)
{
	char byte;

	return (void *)syscall(SYS_read, (int)(long)fd, &byte, 1);
}

static void wait_for_ever(void)
{
	struct timespec time = {.tv_sec = 600};
	pthread_t thread;
	char byte;
	int fds[2];

	must(!pipe(fds), "pipe");
	pthread_create(&thread, NULL, read_for_ever, (void *)(long)fds[0]);
	puts("ready");
	fflush(stdout);
	must(syscall(SYS_read, 0, &byte, 1) == 1, "read");
	syscall(SYS_nanosleep, &time, NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "wait"))
		wait_for_ever();
	else
		count(argc > 2 ? argv[2] : NULL);
	return 0;
}
