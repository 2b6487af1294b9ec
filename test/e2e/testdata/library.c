// A library that chains.c loads.
static volatile int sink;

__attribute__((noinline, noipa)) static void from_library(void (*f)(void))
{
	f();
	sink++;
}

void call_back(void (*f)(void))
{
	from_library(f);
	sink++;
}
