/* Makes COUNT processes, one after the other, that end at once with the lowest byte of their number as status. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int count = atoi(argv[1]), status, forked = 0, ended = 0;

	for (int i = 0; i < count; i++) {
		pid_t child = vfork();

		if (child == 0)
			_exit(i & 255);
		if (child < 0)
			continue;
		forked++;
		if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == (i & 255))
			ended++;
	}
	printf("%d %d %d\n", getpid(), forked, ended);
	return 0;
}
