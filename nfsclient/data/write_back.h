// write_back: brings what was written to a file to the server's stable storage, and cuts the file
// there (fs/nfs/write.c).
//
// Pieces of wsize bytes are sent UNSTABLE as soon as they are full, several in flight; all are kept
// until a COMMIT returns the verifier of their WRITEs, and sent again where it returns another: the
// server has restarted (RFC 1813 3.3.7, RFC 7530 16.36.4). Where one
// piece that is not sent yet is all that the server may lose, fsync and close send it FILE_SYNC,
// without a COMMIT. All files open on one inode share one
// WriteBack.
//
// Invariants
//   W1 Extents change as extent_map.h has it. A WRITE that a Deadline or a Cancellation does not
//      wait for stays in flight, and so does a SETATTR of the size, an ALLOCATE, a DEALLOCATE or a
//      COPY: what follows waits for it.
//   W2 The file's end is its inode's i_size, which a write has advanced before it returns, and
//      which is behind all that is here (attribute_cache.h: GrowSize()).
//   W3 A truncation is one step under the file's i_rwsem: write back, cut, forget, set the end. So
//      is a hole: write back, punch it; and what the server copies into the file.
//   W4 What other clients change is not taken for ours (own_changes.h).
//   W5 While it has data, or calls in flight, it is in Superblock::dirty_files: the last close
//      loses nothing.
//   W6 The last reference to an open file is never dropped under a lock: closing it sends calls and
//      takes locks.
//
// Data of different openers is never merged, and an overlapping extent is written first
// (nfs_flush_incompatible()): each goes out with the credential that wrote it. What the server
// refuses is dropped, and its error kept for the file's openers (superblock/write_errors.h). What a
// lack of memory interrupts stays dirty.
//
// Locks       Functions marked [locked] need the file's i_rwsem (vfs/file_mutexes.h, i_rwsem),
//             under which RPCs are sent. `mutex_` guards the extents against readers and is not
//             held across an RPC.
//
// Thread safety: as marked.
#ifndef NFSWALK_NFSCLIENT_DATA_WRITE_BACK_H_
#define NFSWALK_NFSCLIENT_DATA_WRITE_BACK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <system_error>

#include "nfsclient/data/extent_map.h"
#include "nfsclient/data/own_changes.h"
#include "nfsclient/icache/inode_ref.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/open_context.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/superblock/superblock.h"

namespace nfswalk::data {

// The lock of a regular file (i_rwsem). Its release closes files whose data has left (W6). Not
// locked if the thread's CallDeadline passes, or its calls are canceled, meanwhile.
class RwsemGuard {
 public:
  RwsemGuard(nfs::Superblock& superblock, icache::Inode& inode)
      : superblock_(superblock), lock_(superblock.file_mutexes.Lock(inode)) {}
  ~RwsemGuard() {
    if (!lock_) return;
    lock_.unlock();
    superblock_.dirty_files.DropLeft();
  }
  RwsemGuard(const RwsemGuard&) = delete;
  RwsemGuard& operator=(const RwsemGuard&) = delete;

  explicit operator bool() const { return lock_.owns_lock(); }

 private:
  nfs::Superblock& superblock_;
  vfs::FileMutexes::Exclusive lock_;
};

class WriteBack {
 public:
  using Context = ExtentMap::Context;

  // [locked] Of `inode`, one for all of its open files. Throws std::bad_alloc.
  static std::shared_ptr<WriteBack> Of(nfs::Superblock& superblock, icache::Inode& inode);
  WriteBack(const WriteBack&) = delete;
  WriteBack& operator=(const WriteBack&) = delete;

  // How far Flush() goes.
  enum class Until { kWritten, kCommitted };

  // The end of what is here; 0: nothing is. Preconditions: [locked].
  uint64_t own_end() const { return extents_.own_end(); }

  // [locked] Returns the bytes taken: fewer without memory, or where it had to wait and could not.
  // `error` says why. Throws std::bad_alloc, with nothing written.
  size_t Write(std::span<const std::byte> data, uint64_t offset_bytes, const Context& context,
               std::errc& error);
  // [locked] filemap_write_and_wait(), nfs_wb_all(). Errors: those that leave data dirty or in
  // flight (timed_out, operation_canceled of the thread, not_enough_memory); the server's go to
  // Superblock::write_errors. The attributes of the inode are valid then, unless the server does
  // not answer.
  [[nodiscard]] std::errc Flush(Until until);
  // Takes the lock and flushes. timed_out also if the lock was not to be had.
  [[nodiscard]] std::errc LockAndFlush(Until until);
  // [locked] SETATTR with a size. Errors: as Flush(), and then the SETATTR may still be executed:
  // what follows waits for it; the server's; timed_out of a soft mount.
  [[nodiscard]] std::errc Truncate(const protocol::SetAttributes& attributes,
                                   const sunrpc_auth::Credential& credential);
  // [locked] fallocate(2). Errors: as above.
  [[nodiscard]] std::errc Allocate(const protocol::Allocation& allocation, const Context& context);
  // [locked] Has the server copy from another file, or from this one: returns the bytes. Errors: as
  // above. Preconditions: what was written to `source` is on the server's stable storage.
  [[nodiscard]] std::expected<uint64_t, std::errc> Copy(const Context& source,
                                                        const protocol::CopiedRange& range,
                                                        const Context& context);

  // When the oldest of what is not on stable storage was written (rcu::CoarseNowNs()), or earlier;
  // 0: all is.
  uint64_t dirty_since_ns() const { return dirty_since_ns_.load(); }
  // Whether that is older than the mount's dirty_expire_ms.
  bool IsDue(uint64_t now_ns) const;

  // As those of ExtentMap. Returns whether the read needs no READ.
  bool BeginRead(ExtentMap::Read& read);
  size_t EndRead(ExtentMap::Read& read, std::span<std::byte> into, size_t count_bytes);

 private:
  using Extent = ExtentMap::Extent;

  WriteBack(nfs::Superblock& superblock, icache::Inode& inode);

  protocol::OptionalAttributes KnownState() const;
  // [locked], all of them below.
  std::errc FlushAll(Until until);
  size_t WriteChunk(std::span<const std::byte> data, uint64_t offset_bytes, const Context& context,
                    std::errc& error);
  std::errc AwaitObstacles(uint64_t begin, uint64_t end, const Context& context);
  void FillGaps(uint64_t begin, uint64_t end, const Context& context);
  void NoteDirty();
  std::errc SendFull();
  std::errc Start(Extent& extent);
  std::errc FinishOldest();
  std::errc TakeIn(Extent& extent, const protocol::UnstableWriteReply& reply);
  std::errc KeepUnstableLimit();
  std::errc StartCommit();
  std::errc FinishCommit();
  std::errc CommitAll();
  template <typename Send>
  std::errc CallAlone(std::optional<uint64_t> cuts_at, Send send);
  std::errc FinishCallAlone();
  void NoteRefused(std::errc error);
  void BeginBatch();
  void AskIfInvalid(const Context& context);
  void EndBatchIfKnown();
  void EndBatch();
  void AskForLatest();
  void KeepContext(const Context& context);
  void LeaveUnused();
  void EraseIfClean();

  nfs::Superblock& superblock_;
  const icache::InodeRef inode_;
  std::atomic<uint64_t> dirty_since_ns_{0};
  std::mutex mutex_;
  // Guarded by mutex_. Live extents change under the file's i_rwsem only, under which their counts
  // and NextDirty() need no mutex_; a read that ends removes others.
  ExtentMap extents_;
  // Guarded by mutex_: while the caches hold this change id, others have not written to the file
  // since the first of the extents was written (E5 of extent_map.h). nullopt: that is not known.
  std::optional<uint64_t> own_change_attribute_;

  // All below: guarded by the file's i_rwsem.
  struct Call {
    Extent* extent;
    protocol::WriteInFlight in_flight;
  };
  bool flusher_knows_ = false;  // that there is dirty data
  std::deque<Call> calls_;  // WRITEs in flight, the oldest first
  OwnChanges changes_;
  bool begins_as_own_ = false;  // changes_ began at own_change_attribute_
  nfs::SendStamp since_{};  // when the first of the calls in flight was sent
  Context context_;         // of the last call that was sent
  std::list<Context> contexts_;  // all that is referred to here
  struct {
    Context context;  // with which it was sent
    uint64_t last_written = 0;
    protocol::CommitInFlight in_flight = nullptr;
  } commit_;
  // SETATTR of the size, ALLOCATE, DEALLOCATE or COPY: nothing else is in flight beside it.
  struct {
    std::optional<uint64_t> cuts_at = {};  // the size
    bool outlived_wait = false;            // of the caller
    nfs::SendStamp stamp{};
    sunrpc_auth::CredentialRef credential = {};  // of a SETATTR
    protocol::FileChangeInFlight in_flight = nullptr;
    std::errc outcome{};
    uint64_t copied_bytes = 0;
    Context source = nullptr;  // of a COPY
  } alone_;
};

// Before the attributes of `inode` are used: what was written to it reaches the server, so that
// times are right (nfs_getattr()). Errors as Flush().
[[nodiscard]] std::errc FlushWrites(nfs::Superblock& superblock, icache::Inode& inode,
                                    WriteBack::Until until = WriteBack::Until::kWritten);

// Flushes the files that are due at `now_ns` (nfs::Flusher). Returns whether anything is dirty
// still.
bool FlushDue(nfs::DirtyFiles& files, uint64_t now_ns);

// For a Close() that was interrupted: by a thread that has no Deadline, or else when it is due.
void FlushInBackground(nfs::Superblock& superblock, std::shared_ptr<WriteBack> data);

}  // namespace nfswalk::data

#endif  // NFSWALK_NFSCLIENT_DATA_WRITE_BACK_H_
