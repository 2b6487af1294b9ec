// A load that never repeats itself: a ping-pong in bursts, sleepers, processes of a few ms that run a program, and
// code that is new each time, in files and without. Runs until it is killed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { sleepers = 40, burst = 200 };

static int there[2], back[2];

static void *echo(void *arg) {
	char c;
	while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
		;
	return arg;
}

static void *ping(void *arg) {
	char c = 0;
	for (;; usleep(10000))
		for (int i = 0; i < burst; i++)
			if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
				return arg;
}

static void *sleeper(void *arg) {
	for (;;)
		usleep(1000 * (1 + (long)arg % 20));
}

static void *forker(void *arg) {
	for (unsigned i = 0;; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			char name[16];
			snprintf(name, sizeof name, "short%u", i);
			prctl(PR_SET_NAME, name);
			execl("/bin/true", name, "an argument that is new", name, (char *)0);
			_exit(1);
		}
		waitpid(pid, 0, 0);
		usleep(8000);
	}
	return arg;
}

// A function that counts down from its argument, so that samples and stacks fall into it.
#if defined(__x86_64__)
static const unsigned char code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3}; // dec rdi; jnz -5; ret
#else
static const unsigned int code[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0}; // subs x0, x0, 1; b.ne -4; ret
#endif

static void run(void *at, int fd) {
	void *page = mmap(at, 4096, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		return;
	memcpy(page, code, sizeof code);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache((char *)page, (char *)page + sizeof code);
	((void (*)(long))page)(200000);
	munmap(page, 4096);
}

static void *mapper(void *arg) {
	for (unsigned i = 0;; i++) {
		char name[32];
		snprintf(name, sizeof name, "code%u", i);
		int fd = memfd_create(name, MFD_CLOEXEC);
		if (fd >= 0 && ftruncate(fd, 4096) == 0)
			run(0, fd);
		close(fd);
		run((void *)(0x200000000000 + i * 4096L), -1);
		usleep(20000);
	}
	return arg;
}

int main(void) {
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_t t;
	if (pipe(there) || pipe(back))
		return 1;
	pthread_create(&t, 0, echo, 0);
	pthread_create(&t, 0, forker, 0);
	pthread_create(&t, 0, mapper, 0);
	for (long i = 0; i < sleepers; i++)
		pthread_create(&t, 0, sleeper, (void *)i);
	ping(0);
}
