#include "nfsclient/walk/prefix_recorder.h"

namespace nfswalk::walk {

void PrefixRecorder::Record(const Position& position, const char* rest) {
  const icache::Inode& directory = *position.inode;
  const auto granted =
      directory.access.GrantedAtRcu(credential_, {now_ns_, superblock_.acdirmax_ns});
  if (!granted) {  // invalidated since the permission was checked
    Forget();
    return;
  }
  validity_.Narrow(*granted, superblock_.acdirmax_ns);
  validity_.Narrow(directory.read_at_ns.load(std::memory_order_relaxed),
                   directory.lifetime_ns.load(std::memory_order_relaxed));
  if (rest < prefix_.text.end()) return;
  cache_->Insert(prefix_, position, superblock_, sample_, validity_, now_ns_);
  Forget();
}

}  // namespace nfswalk::walk
