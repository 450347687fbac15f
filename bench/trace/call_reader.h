// call_reader: gives the calls of a trace their meaning: kind, absolute path, recorded answer.
#ifndef NFSWALK_BENCH_TRACE_CALL_READER_H_
#define NFSWALK_BENCH_TRACE_CALL_READER_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "bench/trace/complete_call.h"
#include "bench/trace/process_table.h"
#include "bench/trace/trace.h"

namespace nfswalk::bench {

class CallReader {
 public:
  // Appends to trace.calls, trace.left_out, trace.stat_calls and trace.resolved_paths. Both must
  // outlive the reader.
  CallReader(std::span<const CompleteCall> calls, Trace& trace) : calls_(calls), trace_(trace) {}
  void ReadAll();

 private:
  using Arguments = std::vector<std::string_view>;

  void Read(size_t index);
  void ReadStat(Call call, const CompleteCall& source, const Arguments& arguments);
  void ReadReadLink(Call call, const CompleteCall& source, const Arguments& arguments);
  void ReadOpen(Call call, const CompleteCall& source, const Arguments& arguments);
  void ReadReadDir(const CompleteCall& source, const Arguments& arguments);
  void ReadChange(Call call, const CompleteCall& source, const Arguments& arguments);
  void ReadProcessCall(const CompleteCall& source, const Arguments& arguments);

  // What the arguments at these positions name, or why that cannot be told.
  std::expected<std::string, LeftOut> PathOf(const CompleteCall& source, const Arguments& arguments,
                                             int directory, int path);
  std::expected<std::string, LeftOut> DirectoryOf(const CompleteCall& source,
                                                  const Arguments& arguments, int directory);
  // Looks ahead for what this process says of its working directory before it changes it.
  void LearnWorkingDirectory(uint32_t pid);
  void NoteDescriptors(uint32_t pid, const Arguments& arguments, const CallResult& result);
  void LeaveOut(LeftOut reason) { ++At(trace_.left_out, reason); }

  std::span<const CompleteCall> calls_;
  Trace& trace_;
  ProcessTable processes_;
  size_t index_ = 0;
  std::unordered_set<uint32_t> searched_ahead_;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_TRACE_CALL_READER_H_
