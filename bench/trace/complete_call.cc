#include "bench/trace/complete_call.h"

#include <unordered_map>
#include <utility>

#include "bench/trace/strace_line.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr size_t kNoSlot = ~size_t{0};

class LineJoiner {
 public:
  // Empty or the error, without the line number.
  std::string Add(std::string_view text, uint32_t number) {
    auto line = ParseStraceLine(text);
    if (!line) return std::move(line.error());
    ++joined_.recognised;
    switch (line->kind) {
      case LineKind::kEvent:
        return {};
      case LineKind::kCall:
        AddCall(*line, number, line->arguments, line->result, kNoSlot);
        return {};
      case LineKind::kUnfinished:
        Begin(*line, number);
        return {};
      case LineKind::kResumed:
        return Resume(*line, number);
    }
    return {};
  }

  JoinedLines Finish() {
    for (const auto& [pid, half] : halves_) CountNeverResumed(half);
    std::erase_if(joined_.calls, [](const CompleteCall& call) { return call.form == nullptr; });
    return std::move(joined_);
  }

  JoinedLines& joined() { return joined_; }

 private:
  struct Half {
    std::string name;
    std::string arguments;
    size_t slot = kNoSlot;
  };

  void Begin(const StraceLine& line, uint32_t number) {
    Half half{std::string(line.name), std::string(line.arguments), kNoSlot};
    const SyscallForm* form = FindSyscall(line.name);
    if (form != nullptr && form->kind == SyscallKind::kSpawn) {
      half.slot = joined_.calls.size();
      joined_.calls.push_back({.pid = line.pid, .line = number});
    }
    // A thread that was in a call when another one executed a program never returns from it.
    Half& place = halves_[line.pid];
    CountNeverResumed(place);
    place = std::move(half);
  }

  void CountNeverResumed(const Half& half) {
    const SyscallForm* form = FindSyscall(half.name);
    if (form != nullptr && form->kind != SyscallKind::kSpawn) ++joined_.never_resumed;
  }

  std::string Resume(const StraceLine& line, uint32_t number) {
    auto half = halves_.extract(line.pid);
    if (half.empty()) {
      ++joined_.resumed_without_start;
      return {};
    }
    if (half.mapped().name != line.name) {
      return fmt::format("expected process {} to resume {}, not {}", line.pid, half.mapped().name,
                         line.name);
    }
    joined_.pieces.push_back(half.mapped().arguments + std::string(line.arguments));
    const auto split = SplitResult(joined_.pieces.back());
    if (!split) return split.error();
    AddCall(line, number, split->arguments, split->result, half.mapped().slot);
    return {};
  }

  void AddCall(const StraceLine& line, uint32_t number, std::string_view arguments,
               std::string_view result, size_t slot) {
    if (result.starts_with("-1 ENOENT")) ++joined_.noent_answers;
    const SyscallForm* form = FindSyscall(line.name);
    if (form == nullptr) return;
    const CompleteCall call{form, line.pid, number, arguments, result};
    if (slot == kNoSlot) {
      joined_.calls.push_back(call);
    } else {
      joined_.calls[slot] = call;
    }
  }

  JoinedLines joined_;
  std::unordered_map<uint32_t, Half> halves_;  // by process, which can be inside one call only
};

}  // namespace

std::expected<JoinedLines, std::string> JoinLines(std::string_view text) {
  LineJoiner joiner;
  uint32_t number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    const bool last = end == std::string_view::npos || end + 1 == text.size();
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(last ? text.size() : end + 1);
    if (line.find_first_not_of(" \r") == std::string_view::npos) continue;
    const std::string error = joiner.Add(line, number);
    if (error.empty()) continue;
    if (!last || joiner.joined().recognised == 0) {
      return std::unexpected(fmt::format("line {}: {}", number, error));
    }
    ++joiner.joined().truncated_last_lines;
  }
  joiner.joined().lines = number;
  if (joiner.joined().recognised == 0) {
    return std::unexpected(
        std::string("line 1: expected \"PID CALL(ARGUMENTS) = RESULT\" as strace -f -y writes it, "
                    "got an empty file"));
  }
  return joiner.Finish();
}

}  // namespace nfswalk::bench
