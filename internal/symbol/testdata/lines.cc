#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <unordered_map>
#include <variant>

using Value = std::variant<int, std::string, std::vector<double>>;

static std::string describe(const Value &v)
{
	return std::visit([](auto &x) -> std::string {
		std::ostringstream out;
		if constexpr (std::is_same_v<std::decay_t<decltype(x)>, std::vector<double>>)
			for (auto d : x)
				out << d << ' ';
		else
			out << x;
		return out.str();
	}, v);
}

int main(int argc, char **argv)
{
	std::unordered_map<std::string, Value> all;
	std::regex words("([a-z]+)-(\\d+)|x{2,5}", std::regex::icase);
	for (int i = 0; i < argc; i++) {
		std::cmatch m;
		if (std::regex_search(argv[i], m, words))
			all[m[1]] = int(m.length());
		else
			all[argv[i]] = std::vector<double>(i, 2.5);
	}
	std::map<size_t, std::function<std::string()>> later;
	for (auto &[name, value] : all)
		later.emplace(name.size(), [&] { return name + "=" + describe(value); });
	for (auto &e : std::filesystem::directory_iterator("."))
		later.emplace(e.path().string().size(), [e] { return e.path().filename().string(); });
	std::vector<std::string> lines;
	std::transform(later.begin(), later.end(), std::back_inserter(lines), [](auto &p) { return p.second(); });
	std::stable_sort(lines.begin(), lines.end(), [](auto &a, auto &b) { return a.size() < b.size(); });
	std::copy(lines.begin(), lines.end(), std::ostream_iterator<std::string>(std::cout, "\n"));
}
