// Takes a compiler for a second or two.
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>

int main(int argc, char **argv)
{
	std::map<std::string, std::vector<int>> seen;
	std::regex words("([a-z]+) ([0-9]+)");
	std::smatch match;

	for (int i = 1; i < argc; i++) {
		std::string word(argv[i]);
		if (std::regex_match(word, match, words))
			seen[match[1]].push_back(std::stoi(match[2]));
	}
	std::cout << seen.size() << "\n";
}
