#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static int hidden(int x) { return x * 3 + 1; }
__attribute__((noinline)) int shown(int x) { return hidden(x) ^ 5; }
__attribute__((noinline, weak)) int weakly(int x) { return shown(x) + 2; }
int alias_of_shown(int x) __attribute__((alias("shown")));
__attribute__((noinline, noreturn)) static void leave(int x) { exit(x & 1); }
__asm__(".text\n.type sized, @function\n.globl sized\nsized: nop; nop; ret\n.size sized, .-sized\nlabel: nop; nop; nop; ret\n");
int main(int argc, char **argv) { printf("%d\n", weakly(argc) + alias_of_shown(argc)); leave(argc); }
