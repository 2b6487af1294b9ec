// Values of all kinds, for comparing what is read of them with what a debugger says.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum color { RED, GREEN = 5, BLUE };
enum sign { MINUS = -1, ZERO, PLUS };

struct small { int a; short b; };
struct pair { long first; char *second; };
struct mixed { double d; long n; };

struct deep {
	int id;
	union {
		long number;
		char bytes[8];
	};
	struct { short x, y; } point;
	struct deep *next;
	unsigned flag : 3;
	int level : 5;
	unsigned long wide : 33;
	char name[16];
	const char *text;
	enum color color;
	enum sign sign;
	bool yes;
	float f;
	double d;
	int grid[3][4];
	struct small list[4];
	int *numbers;
	void (*call)(int);
	struct pair embedded;
};

typedef struct deep deep_t;
typedef unsigned int counter_t;

volatile long sink;
long global_counter = 4711;
static struct deep global_deep;
static int global_numbers[6] = {10, 20, 30, 40, 50, 60};

#include "values.h"

__attribute__((noinline)) void many(signed char a, unsigned short b, int c, long d, counter_t e, bool f, int g, long h)
{
	sink += a + b + c + d + e + f + g + h;                     // many
}

__attribute__((noinline)) void structures(struct small s, struct pair p, struct deep big, struct mixed m, enum color color, double x, deep_t *ptr)
{
	sink += s.a + p.first + big.id + m.n + color + (long)x + ptr->id + p.second[0] + s.b;   // structures
}

__attribute__((noinline)) int locals(struct deep *list, int n, const char *word)
{
	int total = 0;
	char buffer[32];
	static int calls = 3;
	strcpy(buffer, word);
	for (int i = 0; i < n; i++) {
		int shadow = i * 100 + 7;
		{
			long n = shadow + list->id;
			total += n + buffer[i];                     // block
			sink += total;
		}
	}
	calls++;
	total += inlined(total, 3);
	sink += global_counter + calls;                             // locals
	return total;
}

__attribute__((noinline)) struct pair give_pair(long n)
{
	struct pair p = {n * 2, (char *)"given"};
	return p;
}

__attribute__((noinline)) struct deep give_deep(int id)
{
	struct deep d = global_deep;
	d.id = id;
	return d;
}

__attribute__((noinline)) enum sign give_sign(int n)
{
	return n < 0 ? MINUS : PLUS;
}

int main(int argc, char **argv)
{
	struct deep d = {
		.id = -42, .number = 0x4142434445464748, .point = {-3, 4}, .flag = 5, .level = -9, .wide = 0x155555555, .name = "a name",
		.text = "some text", .color = GREEN, .sign = MINUS, .yes = true, .f = 1.5f, .d = -2.25,
		.grid = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, -12}}, .list = {{1, 2}, {3, 4}, {5, 6}, {7, -8}},
		.numbers = global_numbers, .embedded = {99, (char *)"embedded text"},
	};
	global_deep = d;
	global_deep.id = 43;
	d.next = &global_deep;
	many(-5, 65000, -70000, 1L << 40, 4000000000u, true, -7, 1L << 41);
	structures((struct small){-1, -2}, (struct pair){-77, (char *)"second"}, d, (struct mixed){2.5, 12}, BLUE, 3.5, &d);
	int total = locals(&d, 3, "a word") + inlined(argc, 5);
	struct pair p = give_pair(21);
	struct deep got = give_deep(1234);
	sink += give_sign(-1) + p.first + got.id;
	return total == 0;
}
