// SPDX-License-Identifier: Apache-2.0
// Takes a compiler about a second.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <string>

int main(int, char **argv)
{
	std::map<std::string, std::function<bool(const std::string &)>> tests;
	tests["long"] = [](const std::string &s) { return s.size() > 5; };
	tests["hidden"] = [](const std::string &s) { return s[0] == '.'; };
	return std::any_of(tests.begin(), tests.end(), [&](auto &t) { return t.second(argv[0]); });
}
