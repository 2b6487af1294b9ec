/* What known.c, plain.c and library.c have in common. */
#define FUNCTION __attribute__((noipa))

void plain_probes(int calls);
