#include "bench/make_replay/build_plan.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "bench/make_replay/plan.h"
#include "bench/make_replay/plan_text.h"

namespace nfswalk::bench {
namespace {

constexpr std::string_view kFirstLine = "nfswalk-build-plan 1";

bool HasSecondText(const BuildCall& call) {
  return call.kind == CallKind::kLink || call.kind == CallKind::kRename ||
         call.kind == CallKind::kSymlink;
}

class BuildPlanReader {
 public:
  // `bytes`: of the file; no string is longer than it is written.
  explicit BuildPlanReader(size_t bytes) : strings_(plan_.texts, bytes) {}

  // False if it is no line of a plan.
  bool Read(std::string_view line) {
    if (ended_) return false;
    Fields fields(line);
    const std::string_view word = fields.Text();
    if (word == "trace") return (plan_.trace = Unescaped(fields.Text()), fields.Complete());
    if (word == "coverage") {
      plan_.coverage = fields.left();
      return fields.left().starts_with("{");
    }
    if (word == "node") return ReadNode(fields, plan_.tree);
    if (word == "string") return strings_.Read(fields);
    if (word == "process") return (plan_.processes.emplace_back(), fields.Complete());
    if (word == "end") {
      ended_ = true;
      return fields.Take<size_t>() == calls_read_ && fields.Complete() && WaitsAreOfCalls();
    }
    const std::optional<CallKind> kind = KindOf(word);
    return kind && !plan_.processes.empty() && ReadCall(fields, *kind);
  }

  bool ended() const { return ended_; }
  BuildPlan Take() { return std::move(plan_); }

 private:
  bool ReadCall(Fields& fields, CallKind kind) {
    PlannedCall call;
    call.kind = kind;
    const std::string_view flags = fields.Text();
    call.no_follow = flags.contains('n');
    call.exclusive = flags.contains('x');
    call.error = fields.Take<int16_t>();
    call.access_mode = fields.Take<uint8_t>();
    call.mode = fields.Take<uint16_t>(8);
    call.size_bytes = fields.TakeOr<uint64_t>(kSizeNotCompared);
    call.links = fields.TakeOr<uint32_t>(0);
    if (!ReadTime(fields.Text(), call) || !ReadWaits(fields.Text(), call)) return false;
    call.trace_line = fields.Take<uint32_t>();
    bool known = true;
    call.path = strings_.Take(fields, known);
    if (kind == CallKind::kReadLink && call.error == 0) {
      call.link_text = strings_.Take(fields, known);
    }
    if (HasSecondText(call)) call.second = strings_.Take(fields, known);
    ++calls_read_;
    plan_.processes.back().push_back(call);
    return known && fields.Complete();
  }

  static bool ReadTime(std::string_view text, BuildCall& call) {
    if (text == "-") return true;
    const size_t dot = std::min(text.find('.'), text.size());
    Fields seconds(text.substr(0, dot)), nanoseconds(text.substr(std::min(dot + 1, text.size())));
    call.modified = {.seconds = seconds.Take<int64_t>(),
                     .nanoseconds = nanoseconds.Take<uint32_t>()};
    return seconds.Complete() && nanoseconds.Complete();
  }

  bool ReadWaits(std::string_view text, PlannedCall& call) {
    call.first_wait = static_cast<uint32_t>(plan_.waits.size());
    while (!text.empty() && text != "-") {
      const std::string_view wait = text.substr(0, text.find(','));
      text.remove_prefix(std::min(wait.size() + 1, text.size()));
      const size_t colon = std::min(wait.find(':'), wait.size());
      Fields process(wait.substr(0, colon)), calls(wait.substr(std::min(colon + 1, wait.size())));
      plan_.waits.push_back({process.Take<uint32_t>(), calls.Take<uint32_t>()});
      if (!process.Complete() || !calls.Complete()) return false;
      ++call.wait_count;
    }
    return true;
  }

  bool WaitsAreOfCalls() const {
    return std::ranges::all_of(plan_.waits, [&](const Wait& wait) {
      return wait.process < plan_.processes.size() &&
             wait.calls <= plan_.processes[wait.process].size();
    });
  }

  BuildPlan plan_;
  PlanStrings strings_;
  size_t calls_read_ = 0;
  bool ended_ = false;
};

}  // namespace

bool IsBuildPlan(const std::string& file) { return BeginsWithLine(file, kFirstLine); }

std::expected<BuildPlan, std::string> LoadBuildPlan(const std::string& file) {
  std::optional<BuildPlanReader> reader;
  const Outcome read = ReadPlanLines(
      file, kFirstLine, [&](size_t bytes) { reader.emplace(bytes); },
      [&](std::string_view line) { return reader->Read(line); });
  if (!read) return std::unexpected(read.error());
  if (!reader->ended()) return std::unexpected(file + ": the plan stops in the middle");
  return reader->Take();
}

}  // namespace nfswalk::bench
