// read_ahead: the READs of a sequential reader that are under way before it asks (mm/readahead.c,
// fs/nfs/read.c).
//
// A read that begins where the last one of the same open file ended is sequential. Then a window of
// twice the read is asked for ahead, which doubles with each read up to kWindowMax bytes and ends
// where the file is known to. A read elsewhere drops it; so do a write of this client to the file,
// attributes that show another content, and age: what was read ahead is not used after
// acregmin, and with acregmin=0 (noac) nothing is.
//
// Thread safety: TryRead() from any thread; while one reads, others read without it.
#ifndef NFSWALK_NFSCLIENT_NFS_READ_AHEAD_H_
#define NFSWALK_NFSCLIENT_NFS_READ_AHEAD_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <system_error>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/superblock.h"
#include "nfsclient/protocol/protocol.h"

namespace nfswalk::nfs {

// Drops what lies behind the size that came with it, as a server may answer any offset with data
// (fs/nfs/read.c reads no further than i_size either). Preconditions: a reply with attributes.
void CutAtSize(protocol::ReadReply& reply, uint64_t offset_bytes);

class ReadAhead {
 public:
  static constexpr size_t kWindowMax = 4 << 20;

  // What the reader has opened; lives as long as this object.
  struct Source {
    Superblock& superblock;
    icache::Inode& inode;
    const protocol::OpenState* open;
    const sunrpc_auth::Credential& credential;
  };

  // Fills `into` as far as it was read ahead: 0 where the reader is not sequential, another thread
  // reads, or there is no memory. `eof`: the file ends behind what was filled. Never an error: the
  // READ of the rest meets it.
  size_t TryRead(const Source& source, std::span<std::byte> into, uint64_t offset_bytes, bool& eof);
  // Notes a read that went past this, and begins to read ahead of the next.
  void HasRead(const Source& source, uint64_t offset_bytes, size_t wanted_bytes, size_t count_bytes,
               bool eof);

 private:
  struct Piece {
    Piece(Superblock& of, uint64_t offset, size_t bytes);
    ~Piece();
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

    Superblock& superblock;
    const uint64_t offset_bytes;
    const size_t size;
    const std::unique_ptr<std::byte[]> data;
    SendStamp stamp = {};
    protocol::ReadUnderWay under_way = nullptr;  // null: finished
    size_t count_bytes = 0;                      // once finished
    bool eof = false;
  };

  bool IsUsable(const Source& source) const;
  bool Finish(const Source& source, Piece& piece);
  void Extend(const Source& source);

  std::mutex mutex_;  // only tried; held across RPCs
  // Without a gap. Several readers may take what is before last_end_bytes_ twice, or go past it.
  std::list<Piece> pieces_;
  uint64_t last_end_bytes_ = 0;
  uint64_t ahead_bytes_ = 0;  // the end of pieces_
  size_t window_bytes_ = 0;   // 0: not sequential
  // Of the file, since pieces_ was empty: its writes, and its attributes once a reply has come.
  uint64_t writes_ = 0;
  protocol::OptionalAttributes attributes_;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_READ_AHEAD_H_
