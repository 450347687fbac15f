// subject: something that answers calls by path: nfswalk, mounted in one way, the kernel on a
// tmpfs, libnfs, a map. All are driven by the same loops, compared by the same code and timed by
// the same clock.
#ifndef NFSWALK_BENCH_MEASURE_SUBJECT_H_
#define NFSWALK_BENCH_MEASURE_SUBJECT_H_

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nfsclient/client.h"

namespace nfswalk::bench {

enum class CallKind : uint8_t {
  kStat,
  kAccess,
  kReadLink,
  kOpen,
  kReadDir,
  // From here on changes, of a BuildCall only.
  kCreate,  // open(2) with O_CREAT; the file is closed again
  kTruncate,
  kMakeDirectory,
  kRemoveDirectory,
  kUnlink,
  kSymlink,
  kLink,
  kRename,
  kChmod,
  kUtimes,
};

constexpr bool IsChange(CallKind kind) { return kind >= CallKind::kCreate; }

inline constexpr uint64_t kSizeNotCompared = ~uint64_t{0};

// A call and the answer to expect. The views end in NUL.
struct Call {
  std::string_view path;
  std::string_view link_text = {};         // kReadLink
  uint64_t size_bytes = kSizeNotCompared;  // kStat
  uint32_t trace_line = 0;                 // 0: of no trace
  uint16_t mode = 0;                       // kStat: type and permission bits
  int16_t error = 0;                       // errno
  CallKind kind = CallKind::kStat;
  bool no_follow = false;
  uint8_t access_mode = 0;  // kAccess, kOpen: of a regular file, which is closed again
};

// A call of a build: one that changes something, or one whose answer another one has changed.
struct BuildCall : Call {
  std::string_view second = {};  // kLink, kRename: the new name; kSymlink: the text; ends in NUL
  std::optional<protocol::Time> modified = {};  // kStat: nullopt: not compared; kUtimes: now
  uint32_t links = 0;                           // kStat; 0: not compared
  bool exclusive = false;                       // kCreate: O_EXCL
};

// Holds the parts of an answer that are compared. Those after `error` are valid if it is 0.
struct Answer {
  int error = 0;            // errno
  uint32_t mode = 0;        // kStat: type and permission bits
  uint64_t size_bytes = 0;  // kStat: of the file; kReadLink: of the text
  uint32_t links = 0;       // kStat, as the next one; 0 of subjects that answer no BuildCall
  protocol::Time modified = {};
};

// Whether `answer` is the expected one: errno; type and permission bits; size; link text.
inline bool Matches(const Call& call, const Answer& answer, const char* link_text) {
  if (answer.error != call.error) return false;
  if (answer.error != 0) return true;
  switch (call.kind) {
    case CallKind::kStat:
      return answer.mode == call.mode &&
             (call.size_bytes == kSizeNotCompared || answer.size_bytes == call.size_bytes);
    case CallKind::kReadLink:
      return std::string_view(link_text, answer.size_bytes) == call.link_text;
    default:
      return true;
  }
}

inline bool Matches(const BuildCall& call, const Answer& answer, const char* link_text) {
  if (!Matches(static_cast<const Call&>(call), answer, link_text)) return false;
  if (answer.error != 0 || call.kind != CallKind::kStat) return true;
  return (call.links == 0 || answer.links == call.links) &&
         (!call.modified || answer.modified == *call.modified);
}

// Makes the calls of one thread, on which it is created and used.
class SubjectThread {
 public:
  virtual ~SubjectThread() = default;
  // `link_text` receives the text of kReadLink.
  virtual Answer Ask(const Call& call, std::span<char> link_text) = 0;
  // Makes a call of which IsChange() is true, if the subject replays builds.
  virtual Answer Change(const BuildCall&) { return {.error = ENOTSUP}; }
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::string_view subject() const = 0;  // "nfswalk"
  virtual std::string_view mode() const = 0;     // "rcu-search"; "-" if it has no modes
  // "nfswalk rcu-search", "libnfs sync".
  std::string title() const {
    const std::string name(subject());
    return mode() == "-" ? name : name + " " + std::string(mode());
  }
  // Called on the thread that will use the result, which may be of no other use afterwards.
  virtual std::expected<std::unique_ptr<SubjectThread>, std::string> StartThread() = 0;
  // Counters so far; zeros for a subject that keeps none.
  virtual Stats stats() const { return {}; }
  // False for a subject that sends RPCs for every call, so that its threads wait.
  virtual bool caches() const { return true; }
  // The process that serves a subject that does not cache, for MachineShare; 0: none here.
  virtual pid_t server_pid() const { return 0; }
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_SUBJECT_H_
