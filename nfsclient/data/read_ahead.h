// read_ahead: the READs of a sequential reader that are in flight before it asks (mm/readahead.c,
// fs/nfs/read.c).
//
// A read that begins where the last one of the same open file ended is sequential. Then a window of
// twice the read is asked for ahead, which doubles with each read up to kWindowMax bytes and ends
// where the file is known to. Reads within the window and as far behind it keep it: those of
// several threads, or of a kernel that reads ahead itself, come in any order. A read elsewhere
// drops it; so do a write of this client to the file, attributes that show another content, and
// age: what was read ahead is not used after acregmin, and with acregmin=0 (noac) nothing is.
// The open files of a mount together hold kPartOfLimit of its limit of dirty bytes, and a READ more
// for each thread that passes it.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_DATA_READ_AHEAD_H_
#define NFSWALK_NFSCLIENT_DATA_READ_AHEAD_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <system_error>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/protocol/data_memory.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/superblock/superblock.h"

namespace nfswalk::data {

// Drops what lies behind the size that came with it, as a server may answer any offset with data
// (fs/nfs/read.c reads no further than i_size either). Preconditions: a reply with attributes.
void CutAtSize(protocol::ReadReply& reply, uint64_t offset_bytes);

class ReadAhead {
 public:
  static constexpr size_t kWindowMax = 4 << 20;
  static constexpr size_t kPartOfLimit = 4;  // a fourth

  // The open file of the reader; lives as long as this object.
  struct Source {
    nfs::Superblock& superblock;
    icache::Inode& inode;
    const protocol::OpenState* open;
    const sunrpc_auth::Credential& credential;
  };

  // Fills `into` as far as it was read ahead: 0 where nothing was, where it may not be shown any
  // more, or where it has not come and the thread's CallDeadline passes. `eof`: the file ends
  // behind what was filled. Never an error: the READ of the rest meets it.
  size_t TryRead(const Source& source, std::span<std::byte> into, uint64_t offset_bytes, bool& eof);
  // Notes what a reader was answered, and begins to read ahead of the next.
  void HasRead(const Source& source, uint64_t offset_bytes, size_t wanted_bytes, size_t count_bytes,
               bool eof);

 private:
  // Counts among the bytes of all open files of the mount.
  class Memory {
   public:
    // Throws std::bad_alloc.
    Memory(std::atomic<size_t>& all_bytes, size_t bytes);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    const size_t size;
    const protocol::DataMemory data;

   private:
    std::atomic<size_t>& all_bytes_;
  };
  using OwnedMemory = std::unique_ptr<Memory>;

  struct Piece {
    Piece(const Source& source, uint64_t offset, OwnedMemory with);
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

    // Whether what was sent, or came, may be shown: not after a write of our own, or where
    // attributes that came since, or that are not valid any more, may have made it old.
    bool IsUsable(const Source& source) const;
    // Takes in the reply. Returns false where the thread's time ended before it came.
    bool Finish(const Source& source);

    const uint64_t offset_bytes;
    const size_t size;
    const uint64_t writes;  // of this client to the file, when it was sent
    const nfs::SendStamp stamp;
    OwnedMemory memory;  // until it is dropped

    // Guarded by mutex_ until one thread is to finish it, then that thread's.
    enum class State { kInFlight, kFinishing, kFinished } state = State::kInFlight;
    protocol::ReadInFlight in_flight = nullptr;  // ends before the memory that it writes to
    // The members below are constant once it is finished.
    bool failed = false;
    size_t count_bytes = 0;
    bool eof = false;
    protocol::OptionalAttributes attributes;

    size_t taken_bytes = 0;  // by readers that were answered; guarded by mutex_
  };
  using Pieces = std::list<std::shared_ptr<Piece>>;

  bool AwaitFinished(std::unique_lock<std::mutex>& lock, const Source& source, Piece& piece);
  std::shared_ptr<Piece> FindFinished(const Source& source, uint64_t offset_bytes);
  bool IsInOrder(uint64_t offset_bytes) const;
  void DropTaken(uint64_t offset_bytes, uint64_t end_bytes, Pieces& dropped);
  void DropAll();
  static OwnedMemory TakeMemory(nfs::Superblock& superblock, size_t bytes, Pieces& dropped);
  void Extend(const Source& source, Pieces& dropped);

  std::mutex mutex_;  // never held across an RPC
  std::condition_variable finished_;
  Pieces pieces_;                // in order; without overlaps
  uint64_t last_end_bytes_ = 0;  // of the reads so far
  uint64_t ahead_bytes_ = 0;     // the end of what was asked for
  size_t window_bytes_ = 0;      // 0: not sequential
};

}  // namespace nfswalk::data

#endif  // NFSWALK_NFSCLIENT_DATA_READ_AHEAD_H_
