// file_thread: the ways to the data of large files.
#ifndef NFSWALK_BENCH_DATA_FILE_THREAD_H_
#define NFSWALK_BENCH_DATA_FILE_THREAD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/data/contender.h"
#include "bench/measure/outcome.h"

namespace nfswalk::bench {

inline constexpr size_t kStepBytes = 1 << 20;    // of a sequential call
inline constexpr size_t kRandomBytes = 4 << 10;  // of one at random
// Calls in flight of asynchronous libnfs in sequential work, for all threads together.
inline constexpr size_t kUsualDepth = 16;

// Each step of a file begins with its offset, so that data in the wrong place is found. All other
// bytes are kFill.
inline constexpr std::byte kFill{1};
inline void Stamp(std::span<std::byte> step, uint64_t offset_bytes) {
  std::memcpy(step.data(), &offset_bytes, sizeof offset_bytes);
}
inline bool HasStamp(const void* step, uint64_t offset_bytes) {
  return std::memcmp(step, &offset_bytes, sizeof offset_bytes) == 0;
}
// Compares each byte of a part of a file, within one step.
inline bool IsContent(std::span<const std::byte> part, uint64_t offset_bytes) {
  const bool is_stamped = offset_bytes % kStepBytes == 0 && part.size() >= sizeof offset_bytes;
  if (is_stamped && !HasStamp(part.data(), offset_bytes)) return false;
  const auto filled = part.subspan(is_stamped ? sizeof offset_bytes : 0);
  return std::ranges::all_of(filled, [](std::byte byte) { return byte == kFill; });
}

// Reads and writes a file for one thread of a turn. All calls but Open() end early, without an
// error, after an interrupt.
class FileThread {
 public:
  virtual ~FileThread() = default;
  // From now on reads compare each byte, which takes time; before, what a step begins with.
  void CompareAll() { compares_all_ = true; }
  // Opens a file of the place's directory, which exists, to read and write it. Once.
  virtual Outcome Open(const std::string& name) = 0;
  // From the beginning on, until it is on stable storage. `bytes`: whole steps, as below.
  virtual Outcome Write(uint64_t bytes) = 0;
  virtual Outcome Read(uint64_t bytes) = 0;
  // kRandomBytes at each of these.
  virtual Outcome ReadAt(std::span<const uint64_t> offsets) = 0;

 protected:
  bool IsRight(std::span<const std::byte> part, uint64_t offset_bytes) const {
    if (compares_all_) return IsContent(part, offset_bytes);
    return offset_bytes % kStepBytes != 0 || HasStamp(part.data(), offset_bytes);
  }

 private:
  bool compares_all_ = false;
};
using FileThreads = std::vector<std::unique_ptr<FileThread>>;
using MadeThreads = std::expected<FileThreads, std::string>;

struct TransferSetting {
  int version = 3;
  size_t threads = 1;
  size_t in_flight = 1;  // of each thread, where the subject can
};

// Makes the threads of one turn over a mount of their own. A thread has one call in flight.
MadeThreads MakeNfswalkThreads(const DataPlace& place, const TransferSetting& setting);
// A context a thread.
MadeThreads MakeLibnfsThreads(const DataPlace& place, const TransferSetting& setting);
MadeThreads MakeAsyncLibnfsThreads(const DataPlace& place, const TransferSetting& setting);
// READs, WRITEs and COMMIT without a client around them, over one connection.
MadeThreads MakeRawThreads(const DataPlace& place, const TransferSetting& setting);
// The kernel, without NFS.
MadeThreads MakeLocalThreads(const DataPlace& place, const TransferSetting& setting);

inline std::unexpected<std::string> TransferFailed(std::string_view what) {
  return std::unexpected(std::string(what) + " failed");
}
inline std::unexpected<std::string> WrongData() {
  return std::unexpected(std::string("what was read is not what was written"));
}

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_DATA_FILE_THREAD_H_
