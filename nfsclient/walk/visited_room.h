// visited_room: where a strict walk keeps what it looks at again in the end: two samples for each
// name on its way. A way of ordinary length needs no memory.
//
// Thread safety: of one walk.
#ifndef NFSWALK_NFSCLIENT_WALK_VISITED_ROOM_H_
#define NFSWALK_NFSCLIENT_WALK_VISITED_ROOM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "rcu/seqcount.h"

namespace nfswalk::walk {

struct Visited {
  const rcu::SeqCount* count;
  uint64_t sample;
};

class VisitedRoom {
 public:
  std::span<Visited> get() { return more_ ? std::span(more_.get(), more_size_) : std::span(first_); }

  // Makes it eight times as large, and forgets what is in it. False if memory is out.
  [[nodiscard]] bool Grow() {
    const size_t size = get().size() * 8;
    more_.reset(new (std::nothrow) Visited[size]);
    more_size_ = size;
    return more_ != nullptr;
  }

 private:
  std::array<Visited, 256> first_;
  std::unique_ptr<Visited[]> more_;
  size_t more_size_ = 0;
};

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_VISITED_ROOM_H_
