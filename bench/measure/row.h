// row: what a benchmark found out, for programs: one JSON object a line.
//
// The first line holds the facts of the run, {"bench": NAME, "facts": {...}}, the last one
// {"bench": NAME, "totals": {...}}; between them stand rows, {"bench": NAME, "subject": ...}.
#ifndef NFSWALK_BENCH_MEASURE_ROW_H_
#define NFSWALK_BENCH_MEASURE_ROW_H_

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "bench/measure/outcome.h"

namespace nfswalk::bench {

// A JSON object whose keys keep the order in which they were set. Each key is set once.
class Row {
 public:
  Row& Set(std::string_view key, std::string_view text);
  Row& Set(std::string_view key, const char* text) { return Set(key, std::string_view(text)); }
  Row& Set(std::string_view key, bool value) { return Append(key, value ? "true" : "false"); }
  Row& Set(std::string_view key, double value);
  template <std::integral Number>
  Row& Set(std::string_view key, Number value) {
    return Append(key, std::to_string(value));
  }
  Row& Set(std::string_view key, const Row& object) { return Append(key, object.text()); }
  // `json`: a value that is JSON already.
  Row& SetJson(std::string_view key, std::string_view json) { return Append(key, json); }
  Row& Set(std::string_view key, std::span<const size_t> numbers);
  Row& Set(std::string_view key, std::span<const std::string> texts);

  // Adds the keys of `other` behind those of this row.
  Row& Extend(const Row& other);

  std::string text() const { return "{" + members_ + "}"; }

 private:
  Row& Append(std::string_view key, std::string_view json);

  std::string members_;
};

// Writes the rows of a run. Every row is written at once, so that a run that is interrupted leaves
// those it had.
class RowWriter {
 public:
  // To `json_file`, to stdout if that is empty. Writes the first line: "processors", "optimised"
  // (how this program was compiled) and `facts`.
  static std::expected<RowWriter, std::string> Open(std::string_view bench,
                                                    const std::string& json_file, const Row& facts);
  void Write(const Row& row);
  // Writes the last line. The error is of any line.
  Outcome Close(const Row& totals);

 private:
  struct Closer {
    void operator()(FILE* file) const { std::fclose(file); }
  };

  RowWriter(std::string_view bench, std::string name) : bench_(bench), name_(std::move(name)) {}

  std::string bench_;
  std::string name_;                   // of the file, for errors
  std::unique_ptr<FILE, Closer> own_;  // none: stdout
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_ROW_H_
