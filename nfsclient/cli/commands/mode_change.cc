#include "nfsclient/cli/commands/mode_change.h"

#include <fmt/format.h>

#include <charconv>
#include <ranges>

namespace nfswalk::cli {
namespace {

constexpr uint32_t kPermissionBits = 07777;
constexpr uint32_t kExecuteBits = 0111;
constexpr uint32_t kSetIdBits = 06000;

// The bits of a letter in ugoa: what of a mode belongs to the class; 0 for any other.
uint32_t BitsOfClass(char letter) {
  switch (letter) {
    case 'u':
      return 04700;
    case 'g':
      return 02070;
    case 'o':
      return 01007;
    case 'a':
      return kPermissionBits;
    default:
      return 0;
  }
}

// The bits of a letter in rwxst, of all classes.
uint32_t BitsOfPermission(char letter) {
  switch (letter) {
    case 'r':
      return 0444;
    case 'w':
      return 0222;
    case 'x':
      return kExecuteBits;
    case 's':
      return 06000;
    case 't':
      return 01000;
    default:
      return 0;
  }
}

}  // namespace

std::expected<ModeChange, std::string> ModeChange::Parse(std::string_view text) {
  const auto refused = std::unexpected(fmt::format(
      "'{}': accepted is an octal mode such as 755, or clauses such as u+x,go-w", text));
  ModeChange change;
  if (!text.empty() && text.find_first_not_of("01234567") == text.npos) {
    uint32_t mode = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
    if (error != std::errc{} || mode > kPermissionBits) return refused;
    change.steps_.push_back({kPermissionBits, '=', mode});
    return change;
  }
  for (const auto part : std::views::split(text, ',')) {
    std::string_view clause(part.begin(), part.end());
    uint32_t who = 0;
    for (; !clause.empty() && BitsOfClass(clause.front()) != 0; clause.remove_prefix(1)) {
      who |= BitsOfClass(clause.front());
    }
    if (clause.empty()) return refused;
    while (!clause.empty()) {
      Step step{who, clause.front(), 0};
      if (step.operation != '+' && step.operation != '-' && step.operation != '=') return refused;
      clause.remove_prefix(1);
      for (; !clause.empty(); clause.remove_prefix(1)) {
        const uint32_t bits = BitsOfPermission(clause.front());
        if (clause.front() == 'X') {
          step.if_executable = true;
        } else if (bits == 0) {
          break;
        }
        step.bits |= bits;
      }
      change.steps_.push_back(step);
    }
  }
  if (change.steps_.empty()) return refused;
  return change;
}

uint32_t ModeChange::Apply(uint32_t mode, bool is_directory, uint32_t umask) const {
  for (const auto& [who, operation, bits, if_executable] : steps_) {
    const bool executable = if_executable && (is_directory || (mode & kExecuteBits) != 0);
    const uint32_t classes = who != 0 ? who : kPermissionBits;
    const uint32_t kept = is_directory ? kSetIdBits & ~(bits & classes) : 0;
    const uint32_t concerned = (who != 0 ? who : kPermissionBits & ~umask) & ~kept;
    const uint32_t wanted = (bits | (executable ? kExecuteBits : 0)) & concerned;
    if (operation == '+') mode |= wanted;
    if (operation == '-') mode &= ~wanted;
    if (operation == '=') mode = (mode & (~classes | kept)) | wanted;
  }
  return mode;
}

}  // namespace nfswalk::cli
