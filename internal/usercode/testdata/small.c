// What is changed at random: a structure, an enumeration, an inlined function, a bit-field.
enum color { RED, GREEN = 5 };
struct item { int id : 5; char name[8]; struct item *next; enum color color; const char *text; double ratio; };

static inline __attribute__((always_inline)) int sum(int a, int b)
{
	int both = a + b;
	return both * 2;
}

__attribute__((noinline)) int use(struct item *list, struct item value, int n)
{
	int total = sum(n, list->id);
	for (int i = 0; i < n; i++)
		total += value.name[i] + (int)list->color;
	return total;
}

int main(void)
{
	struct item a = {1, "name", &a, GREEN, "text", 2.5};
	return use(&a, a, 3);
}
