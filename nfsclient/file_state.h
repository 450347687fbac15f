// file_state: what an open file holds on to: its inode, the server's open state, who opened it, and
// what of its data is on the way.
#ifndef NFSWALK_NFSCLIENT_FILE_STATE_H_
#define NFSWALK_NFSCLIENT_FILE_STATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "nfsclient/client.h"
#include "nfsclient/nfs/byte_range_locks.h"
#include "nfsclient/nfs/dirty_data.h"
#include "nfsclient/nfs/error_sequence.h"
#include "nfsclient/nfs/read_ahead.h"
#include "nfsclient/nfs/superblock.h"

namespace nfswalk {

// Whether a file can be opened so: rights, and kTruncate only with kMayWrite.
constexpr bool IsOpenMode(uint32_t mode) {
  const uint32_t rights = mode & ~kTruncate;
  return rights != 0 && (rights & ~(kMayRead | kMayWrite)) == 0 &&
         (rights == mode || (rights & kMayWrite) != 0);
}

// Shared with the data that was written through the file (nfs::OpenContext).
struct File::State : nfs::OpenContext {
  State(nfs::OpenContext context, nfs::Superblock& of, uint32_t rights, bool unchanged)
      : nfs::OpenContext(std::move(context)),
        superblock(of),
        mode(rights),
        is_unchanged(unchanged) {}

  nfs::Superblock& superblock;
  const uint32_t mode;  // kMayRead, kMayWrite
  const bool is_unchanged;

  // From the first write on; guarded by the inode's lock.
  std::shared_ptr<nfs::DirtyData> dirty = nullptr;
  nfs::ErrorSequence::Seen seen = 0;

  nfs::FileLockOwners lock_owners = {};

  nfs::ReadAhead ahead = {};  // destroyed before what it reads with

  // Where the File lies, so that an open allocates once.
  alignas(File) std::array<std::byte, sizeof(File)> file;
};

}  // namespace nfswalk

#endif  // NFSWALK_NFSCLIENT_FILE_STATE_H_
