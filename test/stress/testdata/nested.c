// Processes in PID namespaces within each other. Each thread prints its ids outside, as the /proc that was
// mounted there shows them, and inside:
//	NAME host-tid host-pid own-tid own-pid
// "nested LEVELS NAME" runs until its standard input ends.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *name) {
	char link[64] = "";
	int pid = 0, tid = 0;
	if (readlink("/proc/thread-self", link, sizeof link - 1) < 0 || sscanf(link, "%d/task/%d", &pid, &tid) != 2)
		exit(3);
	prctl(PR_SET_NAME, name);
	dprintf(1, "%s %d %d %d %d\n", name, tid, pid, (int)syscall(SYS_gettid), (int)getpid());
}

static void *thread(void *name) {
	char own[16];
	snprintf(own, sizeof own, "%s-t", (char *)name);
	say(own);
	for (;;)
		usleep(1000);
}

int main(int argc, char **argv) {
	int levels = atoi(argv[1]);
	char name[16], deeper[8], c;
	snprintf(name, sizeof name, "%s-%d", argv[2], levels);
	pthread_t t;
	pid_t child = 0;
	if (levels > 0) {
		// Only a process with one thread may do this.
		if (unshare(CLONE_NEWPID) || (child = fork()) < 0)
			return 2;
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			snprintf(deeper, sizeof deeper, "%d", levels - 1);
			execl("/proc/self/exe", argv[0], deeper, argv[2], (char *)0);
			return 2;
		}
		say(name);
	} else {
		say(name);
		pthread_create(&t, 0, thread, name);
		dprintf(1, "deepest\n");
	}
	while (read(0, &c, 1) > 0)
		;
	usleep(1000);
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, 0, 0);
	}
	return 0;
}
