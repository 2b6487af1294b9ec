#include <string>

struct Shape {
	virtual double area() const = 0;
	virtual ~Shape() = default;
};

struct Circle : Shape {
	double r;
	explicit Circle(double r) : r(r) {}
	double area() const override { return 3.14 * square(r); }
	static double square(double x) { return x * x; }
};

struct Square : Shape {
	double side;
	explicit Square(double side) : side(side) {}
	double area() const override;
};

double risky(int n);
