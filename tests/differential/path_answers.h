// path_answers: the read-only questions of a path and their results, in one form for the client and
// the kernel.
//
// Trivially copyable: they are sent through pipes to processes of the same build.
//
// Thread safety: as any value.
#ifndef NFSWALK_TESTS_DIFFERENTIAL_PATH_ANSWERS_H_
#define NFSWALK_TESTS_DIFFERENTIAL_PATH_ANSWERS_H_

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "nfsclient/protocol/types.h"

namespace nfswalk::differential {

// Larger than any path that a system call takes.
inline constexpr size_t kPathRoom = 4224;
inline constexpr size_t kTextRoom = 4096;
// Bits of access(2): 0 is F_OK, 7 all three.
inline constexpr size_t kAccessModes = 8;

struct PathQuestion {
  bool no_symlinks = false;  // RESOLVE_* of openat2(2)
  bool beneath = false;
  bool in_root = false;
  std::array<char, kPathRoom> path{};  // ends in a NUL

  bool scoped() const { return no_symlinks || beneath || in_root; }
};

// fsid and change are 0: system calls do not return the server's values.
struct StatAnswer {
  int error = 0;
  protocol::Attributes attributes;
};

struct LinkAnswer {
  int error = 0;
  uint32_t size_bytes = 0;
  std::array<char, kTextRoom> text{};
};

// Errors are errno values, 0 for none. Index 1 of a pair: with AT_SYMLINK_NOFOLLOW.
struct PathAnswers {
  std::array<StatAnswer, 2> stat;
  std::array<std::array<int, kAccessModes>, 2> access{};
  LinkAnswer link;
};

// Return false at the end of the file or pipe.
template <class Message>
bool ReadWhole(int file, Message& message) {
  static_assert(std::is_trivially_copyable_v<Message>);
  auto* bytes = reinterpret_cast<char*>(&message);
  for (size_t done = 0; done < sizeof message;) {
    const ssize_t count = read(file, bytes + done, sizeof message - done);
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}
template <class Message>
bool WriteWhole(int file, const Message& message) {
  static_assert(std::is_trivially_copyable_v<Message>);
  const auto* bytes = reinterpret_cast<const char*>(&message);
  for (size_t done = 0; done < sizeof message;) {
    const ssize_t count = write(file, bytes + done, sizeof message - done);
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace nfswalk::differential

#endif  // NFSWALK_TESTS_DIFFERENTIAL_PATH_ANSWERS_H_
