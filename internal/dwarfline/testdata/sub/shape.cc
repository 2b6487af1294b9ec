#include "shape.h"

static inline double twice(double x) { return x + Circle::square(x) - x * (x - 2); }

double Square::area() const { return Circle::square(side) + twice(side); }

double risky(int n)
{
	if (n > 100)
		throw std::string("too many: ") + std::to_string(n);
	double all = 0;
	for (int i = 0; i < n; i++)
		all += twice(i) * twice(all);
	return all;
}
