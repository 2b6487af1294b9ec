#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "sub/shape.h"

namespace {

struct Entry {
	int key;
	std::string text;
	bool operator<(const Entry &other) const { return key < other.key; }
};

inline int squared(int x) { return x * x; }

template <typename T> inline T clamp(T v, T low, T high) {
	if (v < low)
		return low;
	return squared(v) > high ? high : v;
}

} // namespace

int sum(const std::vector<int> &all)
{
	int total = 0;
	for (int v : all) {
		auto scaled = [&](int by) { return clamp(v * by, -1000, 1000); };
		total += scaled(3) + scaled(total);
	}
	return total;
}

std::map<std::string, int> count(const std::vector<std::string> &words)
{
	std::map<std::string, int> counts;
	for (auto &w : words)
		counts[w]++;
	return counts;
}

int main(int argc, char **argv)
{
	std::vector<Entry> list;
	for (int i = 0; i < argc * 10; i++)
		list.push_back({squared(i) % 7, std::string(argv[0]) + std::to_string(i)});
	std::sort(list.begin(), list.end());
	std::vector<int> keys;
	for (auto &e : list)
		keys.push_back(e.key);
	auto counts = count({argv, argv + argc});
	Circle round(argc);
	Square flat(argc);
	const Shape *shapes[] = {&round, &flat};
	double area = 0;
	for (auto s : shapes)
		area += s->area();
	try {
		area += risky(argc);
	} catch (const std::string &e) {
		std::puts(e.c_str());
	}
	std::printf("%d %zu %f\n", sum(keys), counts.size(), area);
}
