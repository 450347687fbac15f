// link_inference: symbolic links that a trace betrays without naming them.
//
// openat("/lib/x86_64-linux-gnu/libc.so.6") = 3</usr/lib/x86_64-linux-gnu/libc.so.6> says that a
// link stood on the way. Which component it was follows from what else is known not to be a link;
// where several could be, the one nearest to the root is taken, because it explains the most other
// paths.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_LINK_INFERENCE_H_
#define NFSWALK_BENCH_MAKE_REPLAY_LINK_INFERENCE_H_

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "bench/make_replay/tree.h"
#include "bench/trace/trace.h"

namespace nfswalk::bench {

struct InferredLink {
  std::string path;  // canonical
  std::string text;  // relative, so that it means the same under any root
};

// `opened` and `arrived`: canonical as far as known, absolute. Nullopt if no component can be the
// link.
std::optional<InferredLink> InferLink(std::string_view opened, std::string_view arrived,
                                      const std::unordered_set<std::string>& no_links);

// Puts every link that readlink answers and opened descriptors tell of into `tree`.
void LearnLinks(const Trace& trace, Tree& tree);

// /proc/self, /dev/fd and the like: names that mean something else in each process.
bool IsPerProcess(std::string_view path);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_LINK_INFERENCE_H_
