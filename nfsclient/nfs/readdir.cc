#include "nfsclient/nfs/readdir.h"

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/prime.h"

namespace nfswalk::nfs {

namespace {

constexpr std::errc kLoop = std::errc::too_many_symbolic_link_levels;  // ELOOP

bool IsDots(const protocol::DirectoryEntry& entry) {
  return entry.name == "." || entry.name == "..";
}

// Finds out in constant memory that a listing goes round (R. Brent's algorithm): a cookie that
// comes again leads to the same entries again. Cookie 0 is the beginning.
class CookieLoop {
 public:
  bool Closes(uint64_t cookie) {
    if (cookie == anchor_) return true;
    if (++steps_ == power_) {
      anchor_ = cookie;
      steps_ = 0;
      power_ *= 2;
    }
    return cookie == 0;
  }

 private:
  uint64_t anchor_ = 0;
  uint64_t steps_ = 0;
  uint64_t power_ = 1;
};

// `change_id` is the directory's from before the RPC.
void PrimeEntry(Superblock& superblock, vfs::DentryRef& directory,
                const protocol::DirectoryEntry& entry, SendStamp stamp, uint64_t change_id) {
  if (!entry.attributes || !entry.handle || entry.name.size() > vfs::kNameMax) return;
  const vfs::PaddedName name(entry.name, directory.get());
  (void)PrimeName(superblock, directory, name.name(), *entry.handle, *entry.attributes, stamp,
                  change_id);
}

}  // namespace

std::errc ReadDirectory(Superblock& superblock, vfs::DentryRef& directory,
                        const sunrpc_auth::Credential& credential,
                        const std::function<bool(const protocol::DirectoryEntry&)>& visit,
                        protocol::CallDeadline* deadline) {
  icache::Inode& inode = *directory.inode();
  protocol::ReadDirPosition position;
  CookieLoop loop;
  int dots = 0;
  for (;;) {
    protocol::ReadDirReply reply;
    {
      if (deadline != nullptr) deadline->Renew(superblock.protocol->NewDeadline());
      auto lock = superblock.directory_locks.LockShared(inode);
      if (!lock) return std::errc::timed_out;
      SendStamp stamp = Stamp(superblock);
      uint64_t change_id = inode.change_id.load(std::memory_order_relaxed);
      reply = superblock.protocol->ReadDir(inode.handle(), position, superblock.options.rdirplus,
                                           credential);
      if (reply.directory) UpdateAttributes(superblock, inode, *reply.directory, stamp);
      if (reply.error == protocol::kStale) MarkStale(superblock, inode);
      if (reply.error != std::errc{}) return reply.error;
      for (const auto& entry : reply.entries) {
        if (IsDots(entry)) continue;
        PrimeEntry(superblock, directory, entry, stamp, change_id);
      }
    }
    if (deadline != nullptr) deadline->Renew(protocol::CallDeadline::Clock::time_point::max());
    for (const auto& entry : reply.entries) {
      if (IsDots(entry)) {
        ++dots;
      } else if (!visit(entry)) {
        return {};
      }
    }
    if (reply.eof) return {};
    if (reply.entries.empty()) return std::errc::io_error;  // neither progress nor an end
    position = {reply.entries.back().cookie, reply.verifier};
    if (loop.Closes(position.cookie) || dots > 2) return kLoop;
  }
}

}  // namespace nfswalk::nfs
