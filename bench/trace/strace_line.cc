#include "bench/trace/strace_line.h"

#include <cctype>
#include <charconv>

#include "bench/trace/strace_argument.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr std::string_view kUnfinishedMark = "<unfinished ...>";
// A thread that executes a program takes over the pid of its process: "<pid changed to 7 ...>".
constexpr std::string_view kPidChangedMark = "<pid changed to ";
constexpr std::string_view kMarkEnd = " ...>";
constexpr std::string_view kResumedMark = "<... ";
constexpr std::string_view kResumedEnd = " resumed>";

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void SkipSpaces(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

std::string_view TrimEnd(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

bool TakeNumber(std::string_view& text, uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

// "123 ", "[pid 123] " or nothing.
uint32_t TakePid(std::string_view& text) {
  std::string_view rest = text;
  const bool bracket = rest.starts_with("[pid");
  if (bracket) rest.remove_prefix(4);
  SkipSpaces(rest);
  uint32_t pid = 0;
  if (!TakeNumber(rest, pid)) return 0;
  if (bracket && rest.starts_with("]")) rest.remove_prefix(1);
  if (!rest.starts_with(" ")) return 0;
  SkipSpaces(rest);
  text = rest;
  return pid;
}

// "12:34:56", "12:34:56.789", "1700000000.123", "0.000012", "+0.1".
void SkipTimeStamp(std::string_view& text) {
  const size_t end = text.find_first_not_of("+0123456789:.");
  if (end == 0 || end == std::string_view::npos || text[end] != ' ') return;
  if (text.find_first_of("0123456789") >= end) return;  // "+++ exited with 0 +++"
  text.remove_prefix(end);
  SkipSpaces(text);
}

// A one-line excerpt for an error message.
std::string Excerpt(std::string_view line) {
  std::string shown;
  for (char c : line.substr(0, 60)) {
    shown.push_back(std::isprint(static_cast<unsigned char>(c)) != 0 ? c : '?');
  }
  return line.size() > 60 ? shown + "..." : shown;
}

std::expected<StraceLine, std::string> ParseResumed(StraceLine line, std::string_view text) {
  text.remove_prefix(kResumedMark.size());
  const size_t end = text.find(kResumedEnd);
  if (end == std::string_view::npos) {
    return std::unexpected("expected \"<... NAME resumed>\"");
  }
  line.kind = LineKind::kResumed;
  line.name = text.substr(0, end);
  line.arguments = TrimEnd(text.substr(end + kResumedEnd.size()));
  return line;
}

// Whether `rest` is a call that will be resumed under another pid; `line` is then complete.
bool HandsOnItsPid(std::string_view rest, StraceLine& line) {
  const size_t mark = rest.rfind(kPidChangedMark);
  if (mark == std::string_view::npos || !rest.ends_with(kMarkEnd)) return false;
  std::string_view pid = rest.substr(mark + kPidChangedMark.size());
  if (!TakeNumber(pid, line.pid) || pid != kMarkEnd) return false;
  line.kind = LineKind::kUnfinished;
  line.arguments = TrimEnd(rest.substr(0, mark));
  return true;
}

std::expected<StraceLine, std::string> ParseCall(StraceLine line, std::string_view text) {
  size_t name_end = 0;
  while (name_end < text.size() && IsNameChar(text[name_end])) ++name_end;
  if (name_end == 0 || name_end == text.size() || text[name_end] != '(' || IsDigit(text[0])) {
    return std::unexpected(fmt::format(
        "expected \"PID CALL(ARGUMENTS) = RESULT\" as strace -f -y writes it, got \"{}\"",
        Excerpt(text)));
  }
  line.name = text.substr(0, name_end);
  const std::string_view rest = TrimEnd(text.substr(name_end + 1));
  if (rest.ends_with(kUnfinishedMark)) {
    line.kind = LineKind::kUnfinished;
    line.arguments = TrimEnd(rest.substr(0, rest.size() - kUnfinishedMark.size()));
    return line;
  }
  if (HandsOnItsPid(rest, line)) return line;
  const auto split = SplitResult(rest);
  if (!split) return std::unexpected(split.error());
  line.kind = LineKind::kCall;
  line.arguments = split->arguments;
  line.result = split->result;
  return line;
}

}  // namespace

std::expected<StraceLine, std::string> ParseStraceLine(std::string_view text) {
  StraceLine line;
  if (text.starts_with("strace: ")) return line;
  line.pid = TakePid(text);
  SkipTimeStamp(text);
  if (text.starts_with("--- ") || text.starts_with("+++ ") || text.starts_with("strace: ")) {
    return line;
  }
  if (text.starts_with(kResumedMark)) return ParseResumed(line, text);
  return ParseCall(line, text);
}

std::expected<ArgumentsAndResult, std::string> SplitResult(std::string_view rest) {
  const size_t end = FindArgumentsEnd(rest);
  if (end == std::string_view::npos)
    return std::unexpected("expected the closing \")\" of the call");
  std::string_view after = rest.substr(end + 1);
  SkipSpaces(after);
  if (!after.starts_with("= ") || after.size() < 3) {
    return std::unexpected("expected \"= RESULT\" after the arguments");
  }
  return ArgumentsAndResult{rest.substr(0, end), after.substr(2)};
}

}  // namespace nfswalk::bench
