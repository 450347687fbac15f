#include "bench/trace/trace.h"

#include <utility>

#include "bench/trace/call_reader.h"
#include "bench/trace/complete_call.h"
#include "bench/trace/trace_text.h"

namespace nfswalk::bench {

std::expected<Trace, std::string> ParseTrace(std::string_view text) {
  std::expected<JoinedLines, std::string> joined = JoinLines(text);
  if (!joined) return std::unexpected(std::move(joined.error()));
  Trace trace;
  trace.lines = joined->lines;
  trace.noent_answers = joined->noent_answers;
  trace.truncated_last_lines = joined->truncated_last_lines;
  trace.resumed_without_start = joined->resumed_without_start;
  At(trace.left_out, LeftOut::kAnswerNotRecorded) = joined->never_resumed;
  CallReader reader(joined->calls, trace);
  reader.ReadAll();
  return trace;
}

std::expected<Trace, std::string> LoadTrace(const std::string& file) {
  const std::expected<std::string, std::string> text = ReadTraceText(file);
  if (!text) return std::unexpected(text.error());
  std::expected<Trace, std::string> trace = ParseTrace(*text);
  if (!trace) return std::unexpected(file + ", " + trace.error());
  return trace;
}

}  // namespace nfswalk::bench
