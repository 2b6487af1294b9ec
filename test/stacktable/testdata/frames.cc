// Computes in stacks of one kind until it is killed: frames KIND [LIBRARY]. Each function is a frame of its own, and
// does something after each call, so that none is a tail call.
#include <alloca.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <signal.h>
#include <stdexcept>
#include <ucontext.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noipa))

extern "C" {

static volatile unsigned long sink;

FUNCTION void work(int n)
{
	for (int i = 0; i < n; i++)
		sink += i * sink;
}

FUNCTION void leaf(int depth)
{
	if (depth)
		leaf(depth - 1);
	else
		work(1000);
	sink++;
}

FUNCTION void recursion(int depth)
{
	leaf(depth);
	sink++;
}

FUNCTION void large_frame(int n)
{
	char *room = (char *)alloca(n);

	memset(room, n, n);
	leaf(20);
	sink += room[n / 2];
}

FUNCTION void throws(int depth)
{
	if (!depth) {
		work(1000);
		throw std::runtime_error("found");
	}
	throws(depth - 1);
	sink++;
}

FUNCTION void catches(int depth)
{
	try {
		throws(depth);
	} catch (const std::exception &) {
		work(1000);
	}
	sink++;
}

FUNCTION void calls(void (*function)(void *), void *arg)
{
	function(arg);
	sink++;
}

FUNCTION void lambdas(int depth)
{
	auto inner = [](void *arg) { leaf(*(int *)arg); sink++; };

	calls(inner, &depth);
	sink++;
}

static ucontext_t outer, coroutine;

FUNCTION void in_coroutine(void)
{
	for (;;) {
		leaf(10);
		swapcontext(&coroutine, &outer);
	}
}

FUNCTION void resumes(void)
{
	swapcontext(&outer, &coroutine);
	sink++;
}

static void make_coroutine(void)
{
	static char room[64 << 10];

	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = room;
	coroutine.uc_stack.ss_size = sizeof room;
	makecontext(&coroutine, in_coroutine, 0);
}

FUNCTION void handler(int)
{
	leaf(10);
	sink++;
}

FUNCTION void interrupted(void)
{
	raise(SIGUSR1);
	sink++;
}

FUNCTION void loads(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	auto call_back = library ? (void (*)(void (*)(void)))dlsym(library, "call_back") : nullptr;

	if (!call_back)
		exit(1);
	call_back([] { leaf(10); sink++; });
	dlclose(library);
	sink++;
}

FUNCTION void executes(char **argv)
{
	for (int i = 0; i < 20000; i++)
		leaf(10);
	execv("/proc/self/exe", argv);
	sink++;
}

}

struct chain {
	const char *kind;
	void (*call)(char **argv);
};

/* Called through a pointer, so that main has no other functions in its loop. */
static const chain chains[] = {
	{"leaf", [](char **) { leaf(20); sink++; }},
	{"recursion", [](char **) { recursion(400); sink++; }},
	{"alloca", [](char **) { large_frame(64 << 10); sink++; }},
	{"exceptions", [](char **) { catches(10); sink++; }},
	{"lambdas", [](char **) { lambdas(5); sink++; }},
	{"coroutine", [](char **) { resumes(); sink++; }},
	{"signal", [](char **) { interrupted(); sink++; }},
	{"dlopen", [](char **argv) { loads(argv[2]); sink++; }},
	{"exec", [](char **argv) { executes(argv); sink++; }},
};

int main(int, char **argv)
{
	signal(SIGUSR1, handler);
	make_coroutine();
	for (const chain &c : chains)
		while (!strcmp(c.kind, argv[1]))
			c.call(argv);
	return 2;
}
