// room: whether the machine has the memory that a run takes.
#ifndef NFSWALK_BENCH_MEMORY_ROOM_H_
#define NFSWALK_BENCH_MEMORY_ROOM_H_

#include <cstdint>
#include <expected>
#include <span>
#include <string>

namespace nfswalk::bench {

// "MemAvailable:" of a meminfo (proc(5)), in bytes. The error is a sentence.
std::expected<uint64_t, std::string> AvailableBytesIn(const std::string& meminfo);
std::expected<uint64_t, std::string> AvailableBytes();

// Empty, or why caches of these numbers of files, all at the same time, do not fit in what is
// available, and which largest one would.
std::string NoRoomFor(std::span<const uint64_t> cache_sizes, uint64_t available_bytes);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEMORY_ROOM_H_
