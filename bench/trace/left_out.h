// left_out: why a recorded call is not replayed or not compared. Every call left out is counted
// under exactly one reason, so that "0 mismatches" cannot hide what was never asked.
#ifndef NFSWALK_BENCH_TRACE_LEFT_OUT_H_
#define NFSWALK_BENCH_TRACE_LEFT_OUT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nfswalk::bench {

enum class LeftOut : uint8_t {
  kNoPathBehindDescriptor,  // a pipe, a socket, a deleted file
  kTextCutShort,            // strace printed only the beginning ("..." after the quote)
  kDirectoryUnknown,    // a relative path, and neither the working directory nor -y says of what
  kAnswerNotRecorded,   // unfinished for ever, or printed without its structure
  kNotAboutPath,        // an empty path; EFAULT, EBADF, EINTR: no answer of a file system
  kPerProcess,          // /proc/self and its like: another file for each process
  kChangedByTrace,      // the trace itself creates, writes, renames or removes something on the way
  kConflictingAnswers,  // one path, several answers, and no change in the trace explains it
  kSpecialFile,         // a device, FIFO or socket, which prepare cannot make through NFS
  kOpenDecidedByType,   // open failed for what O_NOFOLLOW or O_DIRECTORY met, not for the path
};
inline constexpr size_t kLeftOutCount = 10;
using LeftOutCounts = std::array<uint64_t, kLeftOutCount>;

// A few words for the report.
std::string_view LeftOutText(LeftOut reason);

inline uint64_t& At(LeftOutCounts& counts, LeftOut reason) {
  return counts[static_cast<size_t>(reason)];
}

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_TRACE_LEFT_OUT_H_
