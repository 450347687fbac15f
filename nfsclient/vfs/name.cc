#include "nfsclient/vfs/name.h"

#include <cstdlib>

namespace nfswalk::vfs {

namespace {

uint64_t Drawn() { return uint64_t{arc4random()} << 32 | arc4random(); }

}  // namespace

const HashKeys hash_keys{Drawn(), Drawn()};

Name internal::ScanLongName(const char* text, uint64_t state) {
  Name name{.data = text, .word0 = LoadWord(text), .word1 = LoadWord(text + 8)};
  state = MixBlock(state, name.word0, name.word1);
  for (const char* at = text + kBlock;; at += kBlock) {
    const unsigned ends = EndsIn(at);
    if (ends == 0) {
      state = MixBlock(state, LoadWord(at), LoadWord(at + 8));
      continue;
    }
    const auto tail = static_cast<size_t>(std::countr_zero(ends));
    const auto [word0, word1] = LoadLastBlock(at, tail);
    name.length = static_cast<size_t>(at - text) + tail;
    name.hash = WithLength(MixBlock(state, word0, word1), name.length);
    return name;
  }
}

}  // namespace nfswalk::vfs
