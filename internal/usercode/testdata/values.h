static inline __attribute__((always_inline)) int inlined(int inner_arg, int times)
{
	int inner_local = inner_arg * times;
	sink += inner_local;                                        // inlined
	return inner_local + 1;
}
