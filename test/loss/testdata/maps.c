/* Maps and unmaps a page of its own program as code COUNT times, each of which makes a perf record. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int count = atoi(argv[1]), file = open("/proc/self/exe", O_RDONLY);
	char line[16];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 0; i < count; i++) {
			void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);

			if (code == MAP_FAILED)
				return 1;
			munmap(code, 4096);
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}
