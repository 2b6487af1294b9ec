// Two processes wake each other through pipes, each LEVELS calls below main: deep LEVELS LOOPS PLACES. Prints the seconds.
// They block at PLACES stack pointers in turn, because a recorder may remember the stacks of a few.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int loops, places, in, out, first;

__attribute__((noipa)) static void turn(int place)
{
	volatile char *room = __builtin_alloca(16 * place + 1);
	char c = 0;

	room[0] = 0;
	if (read(in, &c, 1) != 1 || write(out, &c, 1) != 1)
		exit(1);
	room[0] = 1; // no tail call
}

static void turns(void)
{
	if (first && write(out, "", 1) != 1)
		exit(1);
	for (int i = 0; i < loops; i++)
		turn(i % places);
}

__attribute__((noipa)) static int descend(int levels)
{
	if (levels == 0)
		turns();
	else
		descend(levels - 1);
	__asm__ volatile("" ::: "memory"); // no tail call
	return levels;
}

int main(int argc, char **argv)
{
	struct timespec from, to;
	int there[2], back[2], levels, status;

	if (argc != 4 || pipe(there) || pipe(back))
		return 2;
	levels = atoi(argv[1]);
	loops = atoi(argv[2]);
	places = atoi(argv[3]);
	clock_gettime(CLOCK_MONOTONIC, &from);
	pid_t child = fork();
	first = child != 0;
	in = child ? back[0] : there[0];
	out = child ? there[1] : back[1];
	descend(levels);
	if (!child)
		return 0;
	if (waitpid(child, &status, 0) != child || status)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%.6f\n", (to.tv_sec - from.tv_sec) + (to.tv_nsec - from.tv_nsec) / 1e9);
	return 0;
}
