#include "bench/make_replay/plan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "bench/make_replay/plan_text.h"

namespace nfswalk::bench {
namespace {

constexpr std::string_view kFirstLine = "nfswalk-plan 2";
constexpr auto kKindNames = std::to_array<std::string_view>(
    {"stat", "access", "readlink", "open", "getdents64", "create", "truncate", "mkdir", "rmdir",
     "unlink", "symlink", "link", "rename", "chmod", "utimes"});

class PlanReader {
 public:
  // `bytes`: of the file; no string is longer than it is written.
  PlanReader(size_t bytes, bool special_files)
      : special_files_(special_files), strings_(plan_.texts, bytes) {}

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
    if (word == "node") return ReadNode(fields, plan_.tree);
    if (word == "string") return strings_.Read(fields);
    if (word == "lot") return (BeginLot(), fields.Complete());
    if (word == "listings") return (listing_ = true, fields.Complete());
    if (word == "end") {
      ended_ = true;
      return fields.Take<size_t>() == calls_read_ && fields.Complete();
    }
    const std::optional<CallKind> kind = KindOf(word);
    return kind && !IsChange(*kind) && ReadCall(fields, *kind);
  }

  bool ended() const { return ended_; }
  ReplayPlan Take() {
    BeginLot();
    plan_.lots.pop_back();
    return std::move(plan_);
  }

 private:
  // Drops the one before if it has no calls.
  void BeginLot() {
    if (!plan_.lots.empty() && plan_.lots.back().begin == plan_.calls.size()) return;
    plan_.lots.push_back({plan_.calls.size(), plan_.calls.size()});
  }

  bool ReadCall(Fields& fields, CallKind kind) {
    Call call{};
    call.kind = kind;
    const std::string_view flags = fields.Text();
    call.no_follow = flags.contains('n');
    call.error = fields.Take<int16_t>();
    call.access_mode = fields.Take<uint8_t>();
    call.mode = fields.Take<uint16_t>(8);
    call.size_bytes = fields.TakeOr<uint64_t>(kSizeNotCompared);
    call.trace_line = fields.Take<uint32_t>();
    bool known = true;
    call.path = strings_.Take(fields, known);
    if (kind == CallKind::kReadLink && call.error == 0)
      call.link_text = strings_.Take(fields, known);
    if (!known || !fields.Complete() || (plan_.lots.empty() && !listing_)) return false;
    ++calls_read_;
    if (flags.contains('s') && !special_files_) return true;
    (listing_ ? plan_.listings : plan_.calls).push_back(call);
    if (!listing_) plan_.lots.back().end = plan_.calls.size();
    return true;
  }

  const bool special_files_;
  ReplayPlan plan_;
  PlanStrings strings_;
  size_t calls_read_ = 0;
  bool listing_ = false;
  bool ended_ = false;
};

}  // namespace

std::expected<ReplayPlan, std::string> LoadPlan(const std::string& file, bool special_files) {
  std::optional<PlanReader> reader;
  const Outcome read = ReadPlanLines(
      file, kFirstLine, [&](size_t bytes) { reader.emplace(bytes, special_files); },
      [&](std::string_view line) { return reader->Read(line); });
  if (!read) return std::unexpected(read.error());
  if (!reader->ended()) return std::unexpected(file + ": the plan stops in the middle");
  ReplayPlan plan = reader->Take();
  if (plan.calls.empty()) return std::unexpected(file + ": no call to replay");
  return plan;
}

std::optional<CallKind> KindOf(std::string_view name) {
  const auto kind = std::ranges::find(kKindNames, name);
  if (kind == kKindNames.end()) return std::nullopt;
  return static_cast<CallKind>(kind - kKindNames.begin());
}

std::string_view KindName(CallKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

}  // namespace nfswalk::bench
