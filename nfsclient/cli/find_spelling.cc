#include "nfsclient/cli/find_spelling.h"

#include <algorithm>
#include <ranges>
#include <span>
#include <string_view>

namespace nfswalk::cli {
namespace {

constexpr std::string_view kWithValue[] = {"--name", "--iname", "--path",     "--type",
                                           "--size", "--newer", "--mindepth", "--maxdepth"};
constexpr std::string_view kWithoutValue[] = {"--print0"};

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

void AcceptFindSpelling(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.back() != "find") return;
  bool is_value = false;
  for (std::string& argument : std::views::reverse(arguments)) {
    if (is_value) {
      is_value = false;
      continue;
    }
    if (argument == "--") return;
    const std::string twice = argument.starts_with("--") ? argument : "-" + argument;
    is_value = Contains(kWithValue, twice);
    if (is_value || Contains(kWithoutValue, twice)) argument = twice;
  }
}

}  // namespace nfswalk::cli
