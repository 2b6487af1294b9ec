//go:build ignore

/* For each line with numbers in hexadecimal - the bytes of a character, the characters of a path, 0, those of globs - prints its module and whether it is wanted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
#include "filter.h"

static char line[1 << 16];

int main(void)
{
	while (fgets(line, sizeof(line), stdin)) {
		static u32 numbers[1 << 14];
		u32 n = 0, path = 0, kind;
		u8 *characters;

		for (char *word = strtok(line, " \n"); word; word = strtok(0, " \n"))
			numbers[n++] = strtoul(word, 0, 16);
		numbers[n] = numbers[n + 1] = 0;
		kind = numbers[0];
		while (numbers[1 + path])
			path++;
		characters = malloc(path * kind + 1); /* exactly: a sanitizer would see reads beyond */
		for (u32 i = 0; i < path; i++)
			memcpy(characters + i * kind, &numbers[1 + i], kind);
		struct part module = {characters, kind, 0, path, 0};
		cut_to_module(&module);
		printf("%d", is_wanted(numbers + 1 + path + 1, &module));
		for (u32 i = module.from; i < module.to; i++)
			printf(" %x", module_character(&module, i));
		printf("\n");
		free(characters);
	}
	return 0;
}
