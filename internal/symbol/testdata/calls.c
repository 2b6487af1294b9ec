#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	void *(*volatile allocate)(unsigned long) = malloc;

	free(allocate(argc));
	printf("%f\n", pow(argc, 2));
	return rand();
}
