// read_set: where a strict walk keeps what it looks at again in the end: two samples for each
// name on its way. A way of ordinary length needs no memory.
//
// Thread safety: of one walk.
#ifndef NFSWALK_NFSCLIENT_WALK_READ_SET_H_
#define NFSWALK_NFSCLIENT_WALK_READ_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "rcu/seqcount.h"

namespace nfswalk::walk {

struct Visited {
  const rcu::SeqCount* count;
  uint64_t sample;
};

class ReadSet {
 public:
  ReadSet() = default;
  ReadSet(const ReadSet&) = delete;
  ReadSet& operator=(const ReadSet&) = delete;

  std::span<Visited> get() { return room_; }

  // Makes it eight times as large, and forgets what is in it. False if memory is out.
  [[nodiscard]] bool Grow() {
    const size_t size = room_.size() * 8;
    std::unique_ptr<Visited[]> more(new (std::nothrow) Visited[size]);
    if (!more) return false;
    room_ = {more.get(), size};
    more_ = std::move(more);
    return true;
  }

 private:
  std::array<Visited, 256> first_;
  std::unique_ptr<Visited[]> more_;
  std::span<Visited> room_{first_};
};

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_READ_SET_H_
