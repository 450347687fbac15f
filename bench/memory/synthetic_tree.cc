#include "bench/memory/synthetic_tree.h"

#include <algorithm>
#include <charconv>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr size_t kDigits = 8;
constexpr std::string_view kPart = "part";
constexpr std::string_view kDirectory = "module";
constexpr std::string_view kEnd = ".c";
constexpr std::string_view kBeginnings[] = {"", "a", "io", "net", "core"};
// Ids: the kind above, the number below.
constexpr int kKindShift = 32;

// Returns the number that fills `name` from `at` to its end; nothing if there is none.
std::optional<uint64_t> NumberAt(std::string_view name, size_t at) {
  if (at >= name.size()) return std::nullopt;
  uint64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + at, end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

std::optional<uint64_t> NumberIn(std::string_view name, SyntheticTree::Kind kind) {
  if (kind == SyntheticTree::Kind::kPart) return NumberAt(name, kPart.size());
  if (kind == SyntheticTree::Kind::kDirectory) return NumberAt(name, kDirectory.size());
  if (name.size() < kDigits + kEnd.size()) return std::nullopt;
  const std::string_view stem = name.substr(0, name.size() - kEnd.size());
  return NumberAt(stem, stem.size() - kDigits);
}

}  // namespace

std::string SyntheticTree::NameOf(Node node) const {
  switch (node.kind) {
    case Kind::kRoot:
      return "";
    case Kind::kPart:
      return fmt::format("{}{}", kPart, node.number);
    case Kind::kDirectory:
      return fmt::format("{}{}", kDirectory, node.number);
    case Kind::kFile:
      break;
  }
  const std::string name = fmt::format(
      "{}{:0{}}{}", kBeginnings[node.number % std::size(kBeginnings)], node.number, kDigits, kEnd);
  if (!long_names_ || node.number % kOneLongIn != 0) return name;
  return std::string(kLongNameBytes - name.size(), 'x') + name;
}

std::string SyntheticTree::PathOfDirectory(uint64_t directory) const {
  return NameOf({Kind::kPart, directory / kDirectoriesOfPart}) + "/" +
         NameOf({Kind::kDirectory, directory});
}

std::string SyntheticTree::PathOfFile(uint64_t file) const {
  return PathOfDirectory(file / kFilesOfDirectory) + "/" + NameOf({Kind::kFile, file});
}

SyntheticTree::Entries SyntheticTree::EntriesOf(Node directory) const {
  const auto share = [&](Kind kind, uint64_t of_each, uint64_t all) -> Entries {
    return {kind, directory.number * of_each, std::min(all, (directory.number + 1) * of_each)};
  };
  switch (directory.kind) {
    case Kind::kRoot:
      return {Kind::kPart, 0, parts()};
    case Kind::kPart:
      return share(Kind::kDirectory, kDirectoriesOfPart, directories());
    case Kind::kDirectory:
      return share(Kind::kFile, kFilesOfDirectory, files_);
    case Kind::kFile:
      break;
  }
  return {};
}

std::optional<SyntheticTree::Node> SyntheticTree::Find(Node directory,
                                                       std::string_view name) const {
  const Entries entries = EntriesOf(directory);
  const auto number = NumberIn(name, entries.kind);
  if (!number || *number < entries.begin || *number >= entries.end) return std::nullopt;
  const Node node{entries.kind, *number};
  if (NameOf(node) != name) return std::nullopt;
  return node;
}

uint64_t SyntheticTree::IdOf(Node node) {
  return (static_cast<uint64_t>(node.kind) << kKindShift) + node.number + 1;
}

SyntheticTree::Node SyntheticTree::NodeOf(uint64_t id) {
  const uint64_t rest = id - 1;
  return {static_cast<Kind>(rest >> kKindShift), rest & ((uint64_t{1} << kKindShift) - 1)};
}

}  // namespace nfswalk::bench
