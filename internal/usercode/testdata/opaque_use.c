// A unit in which the structure is only declared.
struct opaque;
extern struct opaque the_opaque;
volatile long sink;

__attribute__((noinline)) void use(struct opaque *o) { sink += (long)o; }

int main(void)
{
	use(&the_opaque);
	return 0;
}
