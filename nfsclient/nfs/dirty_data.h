// dirty_data: what was written to a file and may not be on the server's stable storage yet
// (fs/nfs/write.c).
//
// Contract    Write() copies. Pieces of wsize bytes are sent UNSTABLE as soon as they are full,
//             several under way; all are kept until the verifier of a COMMIT vouches for them, and
//             sent again where it does not: the server has restarted (RFC 1813 3.3.7, RFC 7530
//             16.36.4). Two files open on one inode share it.
// Extents     Disjoint: each byte has one version, the last written. States:
//               kDirty -> kWriting -> kUnstable -> gone
//                  ^---------+------------' sent again: the verifier changed, no memory, a Deadline
//             An extent that a READ under way may still have to show is kCommitted until the first
//             Flush() after its end, and not shown by READs that begin later: the server has it.
//             Those of different openers are never merged, and an overlapping one is written first
//             (nfs_flush_incompatible()): each goes out with the credential that wrote it.
// Errors      An extent that the server refused is dropped, its error reported once to each open
//             file by its next write, Sync or Close (error_sequence.h). What a Deadline or a lack
//             of memory interrupted stays dirty.
// Locks       Functions marked [locked] need the inode's lock (vfs/directory_locks.h, i_rwsem),
//             under which RPCs are sent. `mutex_` guards the extents against readers and is not
//             held across an RPC; only a holder of the inode's lock changes them.
//
// Thread safety: as marked.
#ifndef NFSWALK_NFSCLIENT_NFS_DIRTY_DATA_H_
#define NFSWALK_NFSCLIENT_NFS_DIRTY_DATA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <system_error>

#include "nfsclient/icache/inode_ref.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/error_sequence.h"
#include "nfsclient/nfs/silly_rename.h"
#include "nfsclient/nfs/superblock.h"
#include "nfsclient/protocol/protocol.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::nfs {

// nfs_open_context: with what a file was opened. Lives as long as data that was written with it.
struct OpenContext {
  OpenInode inode;  // first: a hidden name is removed after CLOSE
  std::unique_ptr<protocol::OpenState> open;
  sunrpc_auth::CredentialRef credential;
};

class DirtyData {
 public:
  // Of `inode`, one for all of its open files. Throws std::bad_alloc.
  static std::shared_ptr<DirtyData> Of(Superblock& superblock, icache::Inode& inode);
  ~DirtyData();
  DirtyData(const DirtyData&) = delete;
  DirtyData& operator=(const DirtyData&) = delete;

  // How far Flush() goes.
  enum class Until { kWritten, kCommitted };

  // [locked] Returns the bytes taken: fewer without memory, or where it had to wait and could not.
  // `error` says why.
  size_t Write(std::span<const std::byte> data, uint64_t offset_bytes,
               const std::shared_ptr<const OpenContext>& context, std::errc& error);
  // [locked] filemap_write_and_wait(), nfs_wb_all(). Errors: those that leave data dirty
  // (timed_out, not_enough_memory); the server's go to errors().
  [[nodiscard]] std::errc Flush(Until until);
  // The same, with the lock. timed_out also where that was not to be had.
  [[nodiscard]] std::errc LockAndFlush(Until until);

  ErrorSequence& errors() { return errors_; }
  // When the oldest of what is not on stable storage was written (rcu::CoarseNowNs()), or later; 0:
  // all is.
  uint64_t dirty_since_ns() const { return dirty_since_ns_.load(); }
  // Whether that is older than the mount's dirty_expire_ms.
  bool IsDue(uint64_t now_ns) const;

  // The size that the file has at least.
  uint64_t end_bytes();
  // Brackets a READ, whose number BeginRead() returns: what is retained when it begins is there at
  // its end.
  uint64_t BeginRead();
  // Whether the server has nothing to add: all is shown here, or lies behind the file's end there.
  bool HasAll(uint64_t read, uint64_t offset_bytes, size_t size_bytes);
  // Shows in `into`, of which the server filled `count_bytes`, what it does not know. Returns the
  // bytes that are valid then.
  size_t EndRead(uint64_t read, std::span<std::byte> into, uint64_t offset_bytes,
                 size_t count_bytes);

 private:
  // Memory charged to the mount.
  class Buffer {
   public:
    Buffer(DirtyFiles& files, size_t bytes)
        : files_(files), bytes_(new std::byte[bytes]), size_(bytes) {
      files_.Charge(size_);
    }
    ~Buffer() { files_.Discharge(size_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    std::byte* data() { return bytes_.get(); }
    size_t size() const { return size_; }

   private:
    DirtyFiles& files_;
    const std::unique_ptr<std::byte[]> bytes_;
    const size_t size_;
  };
  enum class State : uint8_t { kDirty, kWriting, kUnstable, kCommitted };
  using DirtySet = std::set<uint64_t>;  // offsets of extents
  struct Extent {
    size_t size = 0;
    std::shared_ptr<Buffer> buffer;  // shared by the parts of an extent that was split
    size_t at = 0;                   // in the buffer
    std::shared_ptr<const OpenContext> context;
    State state = State::kDirty;
    protocol::Stability stability = protocol::Stability::kUnstable;  // to be sent with
    uint64_t verifier = 0;                                           // kUnstable
    uint64_t written = 0;                         // kUnstable: the number of its WRITE
    uint64_t last_read = 0;                       // kCommitted: of the READs that began before
    protocol::WriteUnderWay under_way = nullptr;  // kWriting
    DirtySet::node_type place =
        {};  // in DirtyData::dirty_, unless kDirty: to return without memory

    bool IsShownBy(uint64_t read) const { return state != State::kCommitted || read <= last_read; }
    std::span<std::byte> bytes() const { return {buffer->data() + at, size}; }
  };
  using Extents = std::map<uint64_t, Extent>;  // by the offset of the first byte

  DirtyData(Superblock& superblock, icache::Inode& inode);

  // The size that the file has on the server, where the caches vouch for it.
  std::optional<uint64_t> KnownServerEnd() const;

  // [locked], all of them but FirstOverlap() and EndFor().
  size_t WriteChunk(std::span<const std::byte> data, uint64_t offset_bytes,
                    const std::shared_ptr<const OpenContext>& context, std::errc& error);
  void Extend(Extent& extent, std::span<const std::byte> data);
  void Insert(uint64_t offset_bytes, Extent extent);
  std::errc MakeRoom(uint64_t begin, uint64_t end, const OpenContext& context);
  void Cut(Extents::iterator at, uint64_t begin, uint64_t end);
  bool CanJoin(Extents::const_iterator extent, Extents::const_iterator next) const;
  void JoinDirty();
  std::errc SendFull();
  std::errc Start(Extents::iterator at);
  std::errc FinishOldest();
  std::errc Written(Extents::iterator at, const protocol::WrittenReply& reply);
  std::errc Refused(Extents::iterator at, std::errc error);
  std::errc KeepUnstableLimit();
  std::errc StartCommit();
  std::errc FinishCommit();
  std::errc CommitAll();
  void MakeDirty(Extents::iterator at);
  void Drop(Extents::iterator at);
  void DropCommitted();
  void Note(const protocol::OptionalAttributes& after);
  void UpdateInode();
  Extents::iterator FirstOverlap(uint64_t begin);
  uint64_t EndFor(uint64_t read);

  Superblock& superblock_;
  const icache::InodeRef inode_;
  ErrorSequence errors_;

  std::atomic<uint64_t> dirty_since_ns_{0};
  std::mutex mutex_;
  Extents extents_;
  size_t reads_ = 0;  // under way; this and below: guarded by mutex_
  uint64_t reads_begun_ = 0;

  // All below: guarded by the inode's lock.
  std::deque<uint64_t> under_way_;  // extents by their offsets, the oldest first
  DirtySet dirty_;
  size_t dirty_bytes_ = 0, unstable_bytes_ = 0;
  uint64_t writes_ = 0;  // that have ended
  // A COMMIT under way: of WRITEs up to that number, with what the first of them was opened with.
  struct {
    std::shared_ptr<const OpenContext> context;
    SendStamp since = {};
    uint64_t writes = 0;
    protocol::CommitUnderWay under_way = nullptr;
  } commit_;
  size_t live_ = 0;                 // extents that are not kCommitted
  std::optional<SendStamp> since_;  // when the first of those under way was sent
  protocol::OptionalAttributes after_;
};

// Before the attributes of `inode` are used: what was written to it reaches the server, so that
// size and times are right (nfs_getattr()). Errors as Flush().
[[nodiscard]] std::errc FlushDirtyData(Superblock& superblock, icache::Inode& inode,
                                       DirtyData::Until until = DirtyData::Until::kWritten);

// Flushes the files that are due at `now_ns` (Flusher). Returns whether anything is dirty still.
bool FlushDue(DirtyFiles& files, uint64_t now_ns);

// For a Close() that was interrupted: by a thread that has no Deadline, as far as there is one.
void FlushInBackground(Superblock& superblock, std::shared_ptr<DirtyData> data);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_DIRTY_DATA_H_
