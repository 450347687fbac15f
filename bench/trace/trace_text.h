// trace_text: the whole text of a trace file, plain or .xz (told apart by the first bytes, not by
// the name).
#ifndef NFSWALK_BENCH_TRACE_TRACE_TEXT_H_
#define NFSWALK_BENCH_TRACE_TRACE_TEXT_H_

#include <cstddef>
#include <expected>
#include <string>

namespace nfswalk::bench {

// The most that a trace may unpack to, bytes: a bound for damaged and malicious files.
inline constexpr size_t kTraceBytesMax = size_t{4} << 30;

// The error is a sentence that names the file and what is wrong with it. Blocks on the disk.
std::expected<std::string, std::string> ReadTraceText(const std::string& file);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_TRACE_TRACE_TEXT_H_
