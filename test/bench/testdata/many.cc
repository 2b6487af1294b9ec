// Code with much debug information: COUNT instantiations of one function and of what it calls.
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

template <int N> struct item {
	int number[N % 7 + 1];
	std::string text;
	bool operator<(const item &other) const { return text < other.text || number[0] < other.number[0]; }
};

template <int N> long work(long count)
{
	std::map<std::string, item<N>> by_text;
	std::vector<item<N>> all;
	std::deque<item<N>> reversed;
	std::set<item<N>> sorted;
	std::unordered_map<int, item<N>> by_number;
	for (long i = 0; i < count; i++) {
		item<N> one{};
		one.text = std::to_string(i * N);
		one.number[0] = i;
		by_text[one.text] = one;
		all.push_back(one);
		reversed.push_front(one);
		sorted.insert(one);
		by_number[i] = one;
	}
	std::sort(all.begin(), all.end());
	std::stable_sort(reversed.begin(), reversed.end());
	std::function<long(long)> size = [&](long more) { return more + all.size() + N; };
	auto first = std::make_shared<item<N>>(all[0]);
	std::ostringstream out;
	out << first->text << N;
	return size(count) + by_text.size() + sorted.size() + by_number.size() + out.str().size() + reversed.size();
}

template <int... N> long every(std::integer_sequence<int, N...>, long count) { return (work<N>(count) + ...); }

long all_of_them(long count) { return every(std::make_integer_sequence<int, COUNT>(), count); }
