#include "bench/measure/row.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "bench/measure/team.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

// A name of a trace may hold any bytes.
std::string Quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <class Value, class Text>
std::string List(std::span<const Value> values, Text&& text) {
  std::string list;
  for (const Value& value : values) list += (list.empty() ? "" : ", ") + text(value);
  return "[" + list + "]";
}

constexpr bool kOptimised =
#ifdef NDEBUG
    true;
#else
    false;
#endif

}  // namespace

Row& Row::Set(std::string_view key, std::string_view text) { return Append(key, Quoted(text)); }

Row& Row::Set(std::string_view key, double value) {
  return Append(key, std::isfinite(value) ? fmt::format("{:.6g}", value) : "null");
}

Row& Row::Set(std::string_view key, std::span<const size_t> numbers) {
  return Append(key, List(numbers, [](size_t number) { return std::to_string(number); }));
}

Row& Row::Set(std::string_view key, std::span<const std::string> texts) {
  return Append(key, List(texts, Quoted));
}

Row& Row::Extend(const Row& other) {
  if (!members_.empty() && !other.members_.empty()) members_ += ", ";
  members_ += other.members_;
  return *this;
}

Row& Row::Append(std::string_view key, std::string_view json) {
  members_ += fmt::format("{}{}: {}", members_.empty() ? "" : ", ", Quoted(key), json);
  return *this;
}

std::expected<RowWriter, std::string> RowWriter::Open(std::string_view bench,
                                                      const std::string& json_file,
                                                      const Row& facts) {
  RowWriter writer(bench, json_file.empty() ? "stdout" : fmt::format("\"{}\"", json_file));
  if (!json_file.empty()) writer.own_.reset(std::fopen(json_file.c_str(), "we"));
  if (!json_file.empty() && writer.own_ == nullptr) {
    return std::unexpected(fmt::format("cannot write {}: {}", writer.name_, std::strerror(errno)));
  }
  Row common;
  common.Set("processors", Processors()).Set("optimised", kOptimised).Extend(facts);
  writer.Write(Row().Set("facts", common));
  return writer;
}

void RowWriter::Write(const Row& row) {
  FILE* file = own_ != nullptr ? own_.get() : stdout;
  const std::string line = Row().Set("bench", bench_).Extend(row).text() + "\n";
  std::fputs(line.c_str(), file);
  std::fflush(file);
}

Outcome RowWriter::Close(const Row& totals) {
  Write(Row().Set("totals", totals));
  FILE* file = own_ != nullptr ? own_.get() : stdout;
  if (std::ferror(file) != 0) return std::unexpected("cannot write to " + name_);
  return {};
}

}  // namespace nfswalk::bench
