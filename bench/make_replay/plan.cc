#include "bench/make_replay/plan.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr std::string_view kFirstLine = "nfswalk-plan 2";
constexpr auto kKindNames =
    std::to_array<std::string_view>({"stat", "access", "readlink", "open", "getdents64"});
constexpr auto kFileTypes = std::to_array<std::pair<std::string_view, uint32_t>>({
    {"d", S_IFDIR},
    {"f", S_IFREG},
    {"l", S_IFLNK},
    {"c", S_IFCHR},
    {"b", S_IFBLK},
    {"p", S_IFIFO},
    {"s", S_IFSOCK},
});

// The fields of a line, one after the other. One that is missing or no number spoils them all.
class Fields {
 public:
  explicit Fields(std::string_view line) : left_(line) {}

  std::string_view Text() {
    const size_t end = std::min(left_.find(' '), left_.size());
    const std::string_view field = left_.substr(0, end);
    left_.remove_prefix(std::min(end + 1, left_.size()));
    good_ &= !field.empty();
    return field;
  }
  template <typename Number>
  Number Take(int base = 10) {
    const std::string_view field = Text();
    Number number{};
    const auto [end, error] =
        std::from_chars(field.data(), field.data() + field.size(), number, base);
    good_ &= error == std::errc{} && end == field.data() + field.size();
    return number;
  }
  std::string_view left() const { return left_; }
  // Whether all that was asked for was there, and nothing more.
  bool Complete() const { return good_ && left_.empty(); }
  bool good() const { return good_; }

 private:
  std::string_view left_;
  bool good_ = true;
};

// Undoes "\xHH".
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

class PlanReader {
 public:
  // `bytes`: of the file.
  PlanReader(size_t bytes, bool special_files) : special_files_(special_files) {
    plan_.texts.reserve(bytes);  // never moves: no string is longer than it is written
  }

  // False if it is no line of a plan.
  bool Read(std::string_view line) {
    if (ended_) return false;
    Fields fields(line);
    const std::string_view word = fields.Text();
    if (word == "trace") return (plan_.trace = Unescaped(fields.Text()), fields.Complete());
    if (word == "coverage" || word == "coverage-without-special") {
      if (special_files_ == (word == "coverage")) plan_.coverage = fields.left();
      return fields.left().starts_with("{");
    }
    if (word == "node") return ReadNode(fields);
    if (word == "string") return ReadString(fields);
    if (word == "lot") return (BeginLot(), fields.Complete());
    if (word == "listings") return (listing_ = true, fields.Complete());
    if (word == "end") {
      ended_ = true;
      return fields.Take<size_t>() == calls_read_ && fields.Complete();
    }
    const auto kind = std::ranges::find(kKindNames, word);
    return kind != kKindNames.end() &&
           ReadCall(fields, static_cast<CallKind>(kind - kKindNames.begin()));
  }

  bool ended() const { return ended_; }
  ReplayPlan Take() {
    BeginLot();
    plan_.lots.pop_back();
    return std::move(plan_);
  }

 private:
  bool ReadNode(Fields& fields) {
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
    plan_.tree.insert_or_assign(std::move(path), std::move(node));
    return fields.Complete();
  }

  bool ReadString(Fields& fields) {
    const std::string text = Unescaped(fields.Text());
    const size_t begin = plan_.texts.size();
    plan_.texts.insert(plan_.texts.end(), text.begin(), text.end());
    plan_.texts.push_back('\0');
    strings_.emplace_back(plan_.texts.data() + begin, text.size());
    return fields.Complete();
  }

  // Drops the one before if it has no calls.
  void BeginLot() {
    if (!plan_.lots.empty() && plan_.lots.back().begin == plan_.calls.size()) return;
    plan_.lots.push_back({plan_.calls.size(), plan_.calls.size()});
  }

  std::string_view TakeString(Fields& fields, bool& known) {
    const auto number = fields.Take<size_t>();
    known &= number < strings_.size();
    return known ? strings_[number] : std::string_view();
  }

  bool ReadCall(Fields& fields, CallKind kind) {
    Call call{};
    call.kind = kind;
    const std::string_view flags = fields.Text();
    call.no_follow = flags.contains('n');
    call.error = fields.Take<int16_t>();
    call.access_mode = fields.Take<uint8_t>();
    call.mode = fields.Take<uint16_t>(8);
    if (fields.left().starts_with("- ")) {
      fields.Text();
    } else {
      call.size_bytes = fields.Take<uint64_t>();
    }
    call.trace_line = fields.Take<uint32_t>();
    bool known = true;
    call.path = TakeString(fields, known);
    if (kind == CallKind::kReadLink && call.error == 0) call.link_text = TakeString(fields, known);
    if (!known || !fields.Complete() || (plan_.lots.empty() && !listing_)) return false;
    ++calls_read_;
    if (flags.contains('s') && !special_files_) return true;
    (listing_ ? plan_.listings : plan_.calls).push_back(call);
    if (!listing_) plan_.lots.back().end = plan_.calls.size();
    return true;
  }

  const bool special_files_;
  ReplayPlan plan_;
  std::vector<std::string_view> strings_;
  size_t calls_read_ = 0;
  bool listing_ = false;
  bool ended_ = false;
};

}  // namespace

std::expected<ReplayPlan, std::string> LoadPlan(const std::string& file, bool special_files) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return std::unexpected(fmt::format("{}: cannot open: {}", file, std::strerror(errno)));
  }
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  PlanReader reader(text.size(), special_files);
  std::string_view left = text;
  for (size_t number = 1; !left.empty(); ++number) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (number == 1 ? line == kFirstLine : reader.Read(line)) continue;
    return std::unexpected(fmt::format(
        "{}, line {}: no line of a plan as bench/trace/make_plan.py writes it", file, number));
  }
  if (!reader.ended()) return std::unexpected(file + ": the plan stops in the middle");
  ReplayPlan plan = reader.Take();
  if (plan.calls.empty()) return std::unexpected(file + ": no call to replay");
  return plan;
}

std::string_view KindName(CallKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

}  // namespace nfswalk::bench
