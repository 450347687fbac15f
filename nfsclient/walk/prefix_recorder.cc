#include "nfsclient/walk/prefix_recorder.h"

#include "nfsclient/nfs/attribute_cache.h"

namespace nfswalk::walk {

void PrefixRecorder::Record(const Walker& walker, const Position& position, const char* rest) {
  const auto& [superblock, credential, now_ns] = walker;
  const icache::Inode& directory = *position.inode;
  const uint64_t rights_ns = superblock.directory_rights_ns;
  const auto granted = directory.access.GrantedAtRcu(credential, {now_ns, rights_ns});
  if (!granted) {  // invalidated since the permission was checked
    Forget();
    return;
  }
  validity_.Narrow(*granted, rights_ns);
  const uint64_t read_at_ns = directory.read_at_ns.load(std::memory_order_relaxed);
  validity_.Narrow(read_at_ns, nfs::ValidNs(superblock, directory, read_at_ns));
  cache_->walked().Add(directory.change_key());
  if (rest < prefix_.text.end()) return;
  cache_->Insert(prefix_, position, superblock, sample_, validity_, now_ns);
  Forget();
}

}  // namespace nfswalk::walk
