/* A thousand functions, many_000 to many_999. many calls each of them once for each line of standard input. */
#include <stdio.h>

#define TEN(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
#define DEFINE(n) __attribute__((noipa)) void many_##n(void) { asm volatile(""); }
#define CALL(n) many_##n();
#define TEN_DEFINED(n) TEN(DEFINE, n)
#define TEN_CALLED(n) TEN(CALL, n)
#define HUNDRED(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
#define ALL(M)                                                                                                                            \
	HUNDRED(M, 0) HUNDRED(M, 1) HUNDRED(M, 2) HUNDRED(M, 3) HUNDRED(M, 4) HUNDRED(M, 5) HUNDRED(M, 6) HUNDRED(M, 7) HUNDRED(M, 8) HUNDRED(M, 9)

ALL(TEN_DEFINED)

int main(void)
{
	setlinebuf(stdout);
	puts("ready");
	for (int c; (c = getchar()) != EOF;) {
		if (c != '\n')
			continue;
		ALL(TEN_CALLED)
		puts("done");
	}
}
