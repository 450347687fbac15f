// mounted_calls: the system calls of a program on a mount of a HostileServer's tree.
//
// Thread safety: all functions.
#ifndef NFSWALK_TESTS_HOSTILE_MOUNTED_CALLS_H_
#define NFSWALK_TESTS_HOSTILE_MOUNTED_CALLS_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace nfswalk::hostile {

// An empty directory of the root, which HostileServer does not have by itself.
inline constexpr char kEmptyDirectory[] = "vacant";

// Results that a program gets from its calls.
struct CallResult {
  int error = 0;          // errno of the first call that failed
  std::string text = {};  // what the calls returned else

  friend bool operator==(const CallResult&, const CallResult&) = default;
};
void PrintTo(const CallResult& result, std::ostream* out);

struct MountedCall {
  std::string name;
  std::function<CallResult(const std::string& mount)> make;
};

const std::vector<MountedCall>& MountedCalls();

}  // namespace nfswalk::hostile

#endif  // NFSWALK_TESTS_HOSTILE_MOUNTED_CALLS_H_
