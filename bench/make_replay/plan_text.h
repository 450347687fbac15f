// plan_text: what both kinds of plan are written of: lines of fields, nodes of a tree, numbered
// strings.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_PLAN_TEXT_H_
#define NFSWALK_BENCH_MAKE_REPLAY_PLAN_TEXT_H_

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure/file_tree.h"
#include "bench/measure/outcome.h"

namespace nfswalk::bench {

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
  // `absent` for "-".
  template <typename Number>
  Number TakeOr(Number absent) {
    if (left_ != "-" && !left_.starts_with("- ")) return Take<Number>();
    Text();
    return absent;
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
std::string Unescaped(std::string_view text);

// The strings of a plan, by number.
class PlanStrings {
 public:
  // `texts` receives the strings, each behind a NUL, and never moves: `bytes` is more than all of
  // them take.
  PlanStrings(std::vector<char>& texts, size_t bytes) : texts_(texts) { texts_.reserve(bytes); }

  // Adds the string that follows "string". Returns false if none does.
  bool Read(Fields& fields);
  // Returns the string of the number that comes next; `known` becomes false if there is none.
  std::string_view Take(Fields& fields, bool& known) const;

 private:
  std::vector<char>& texts_;
  std::vector<std::string_view> strings_;
};

// Adds the node that follows "node" to `tree`. Returns false if none does.
bool ReadNode(Fields& fields, FileTree& tree);

// Whether the first line of `file` is `first_line`.
bool BeginsWithLine(const std::string& file, std::string_view first_line);
// Calls `begin` with the size of the file, and `read` with every line but the first, which must be
// `first_line`, until it returns false. The error names the file and the line.
Outcome ReadPlanLines(const std::string& file, std::string_view first_line,
                      const std::function<void(size_t bytes)>& begin,
                      const std::function<bool(std::string_view line)>& read);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_PLAN_TEXT_H_
