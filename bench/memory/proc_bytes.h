// proc_bytes: sizes in files of proc(5) that have a line "NAME  COUNT kB" for each.
#ifndef NFSWALK_BENCH_MEMORY_PROC_BYTES_H_
#define NFSWALK_BENCH_MEMORY_PROC_BYTES_H_

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace nfswalk::bench {

// The size that `text` gives for `name`, "Rss:", in bytes; nothing if there is none.
std::expected<uint64_t, std::string> BytesIn(const std::string& text, std::string_view name);

// Returns BytesIn() of the text of `file`.
std::expected<uint64_t, std::string> ProcBytes(const char* file, std::string_view name);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEMORY_PROC_BYTES_H_
