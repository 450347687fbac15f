#include "bench/make_replay/plan_text.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr auto kFileTypes = std::to_array<std::pair<std::string_view, uint32_t>>({
    {"d", S_IFDIR},
    {"f", S_IFREG},
    {"l", S_IFLNK},
    {"c", S_IFCHR},
    {"b", S_IFBLK},
    {"p", S_IFIFO},
    {"s", S_IFSOCK},
});

}  // namespace

std::string Unescaped(std::string_view text) {
  std::string bytes;
  for (size_t at = 0; at < text.size(); ++at) {
    unsigned value = static_cast<unsigned char>(text[at]);
    if (text.substr(at).starts_with("\\x") && at + 3 < text.size()) {
      std::from_chars(&text[at + 2], &text[at + 4], value, 16);
      at += 3;
    }
    bytes.push_back(static_cast<char>(value));
  }
  return bytes;
}

bool PlanStrings::Read(Fields& fields) {
  const std::string text = Unescaped(fields.Text());
  const size_t begin = texts_.size();
  texts_.insert(texts_.end(), text.begin(), text.end());
  texts_.push_back('\0');
  strings_.emplace_back(texts_.data() + begin, text.size());
  return fields.Complete();
}

std::string_view PlanStrings::Take(Fields& fields, bool& known) const {
  const auto number = fields.Take<size_t>();
  known &= number < strings_.size();
  return known ? strings_[number] : std::string_view();
}

bool ReadNode(Fields& fields, FileTree& tree) {
  FileNode node;
  const auto type =
      std::ranges::find(kFileTypes, fields.Text(), &decltype(kFileTypes)::value_type::first);
  if (type == kFileTypes.end()) return false;
  node.type = type->second;
  node.permissions = fields.Take<uint32_t>(8);
  node.size_bytes = fields.Take<uint64_t>();
  node.rdev_major = fields.Take<uint32_t>();
  node.rdev_minor = fields.Take<uint32_t>();
  std::string path = Unescaped(fields.Text());
  if (node.type == S_IFLNK) node.link_text = Unescaped(fields.Text());
  if (path == "/") path.clear();
  tree.insert_or_assign(std::move(path), std::move(node));
  return fields.Complete();
}

bool BeginsWithLine(const std::string& file, std::string_view first_line) {
  std::string line;
  std::ifstream stream(file, std::ios::binary);
  return std::getline(stream, line) && line == first_line;
}

Outcome ReadPlanLines(const std::string& file, std::string_view first_line,
                      const std::function<void(size_t bytes)>& begin,
                      const std::function<bool(std::string_view line)>& read) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return std::unexpected(fmt::format("{}: cannot open: {}", file, std::strerror(errno)));
  }
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  begin(text.size());
  std::string_view left = text;
  for (size_t number = 1; !left.empty(); ++number) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (number == 1 ? line == first_line : read(line)) continue;
    return std::unexpected(fmt::format(
        "{}, line {}: no line of a plan as bench/trace/make_plan.py writes it", file, number));
  }
  return {};
}

}  // namespace nfswalk::bench
