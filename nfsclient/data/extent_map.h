// extent_map: bytes of one file that were written here and that the server may lose, or that a READ
// in flight may not bring (the page cache's role for dirty data, struct nfs_page).
//
// Pure: no call, no lock, no inode. All that decides about a byte is here, so that a test can
// explore it exhaustively (tests/unit/nfsclient/data/write_model_test.cc); write_back.h sends.
//
// Invariants
//   E1 Extents are disjoint and not empty: each byte has one version, the last written.
//   E2 A byte has at most one WRITE that is not answered: only kDirty is sent, and what is kWriting
//      is neither changed nor removed until its reply, or the end of all that could execute it.
//   E3 A WRITE carries bytes of one extent, i.e. bytes that were passed to Write().
//   E4 Data leaves the map where the server has it on stable storage, or refuses it.
//      Until the end of each read in progress that overlaps it, it is kept for that read (kKept).
//   E5 From the end that the file had before, or of what was sent since, all bytes of the file
//      are in dirty extents or are zeros, unless others have written to it: the caller says whether
//      it is known that they have not. A hole there is filled, and read, without the server.
//   E6 Data is kept for reads only where they overlap it: reads do not add to the memory limit
//      more than their own size, rounded to extents.
//
//   state      left by
//   kDirty     StartWrite() -> kWriting; Write() over it by another opener -> gone, by the same
//              one new bytes
//   kWriting   Written() -> kUnstable, or where it is stable kKept or gone; what a short WRITE has
//              left, and NotWritten() -> kDirty; Refused() -> gone
//   kUnstable  Committed() -> kKept or gone, or kDirty where the verifier changed; CommitRefused(),
//              Write() over it -> gone
//   kKept      the end of the reads that it is kept for -> gone; Write() over it -> gone
//
// Each function that throws std::bad_alloc has changed nothing.
//
// Thread safety: none.
#ifndef NFSWALK_NFSCLIENT_DATA_EXTENT_MAP_H_
#define NFSWALK_NFSCLIENT_DATA_EXTENT_MAP_H_

#include <array>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "nfsclient/protocol/types.h"

namespace nfswalk::nfs {
struct OpenContext;
}

namespace nfswalk::data {

// Memory of extents.
class Buffer {
 public:
  // `charged_bytes`: the sum of all buffers; outlives them.
  Buffer(std::atomic<size_t>& charged_bytes, size_t bytes)
      : charged_bytes_(charged_bytes), bytes_(new std::byte[bytes]), size_(bytes) {
    charged_bytes_.fetch_add(size_);
  }
  ~Buffer() { charged_bytes_.fetch_sub(size_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() { return bytes_.get(); }
  size_t size() const { return size_; }

 private:
  std::atomic<size_t>& charged_bytes_;
  const std::unique_ptr<std::byte[]> bytes_;
  const size_t size_;
};

class ExtentMap {
 public:
  using Context = std::shared_ptr<const nfs::OpenContext>;
  enum class State : uint8_t { kDirty, kWriting, kUnstable, kKept };

  class Extent {
   public:
    explicit Extent(uint64_t offset) : begin(offset) {}

    uint64_t end() const { return begin + size; }
    std::span<std::byte> bytes() const { return {buffer->data() + at, size}; }

    const uint64_t begin;
    size_t size = 0;
    std::shared_ptr<Buffer> buffer;  // shared by the parts of an extent that was split
    size_t at = 0;                   // in the buffer
    Context context;                 // with what it was written; null: kKept
    State state = State::kDirty;
    bool must_be_stable = false;  // to be written FILE_SYNC: alone, or lost by a restart
    uint64_t verifier = 0;        // kUnstable: of its WRITE
    uint64_t written = 0;         // kUnstable: the number of its WRITE's reply
    uint64_t last_read = 0;       // kKept: for reads up to this number

   private:
    friend class ExtentMap;
    boost::intrusive::set_member_hook<> dirty_hook_;
  };
  struct ByBegin {
    using type = uint64_t;
    const type& operator()(const Extent& extent) const { return extent.begin; }
  };

  // A read in progress, of [offset, offset + size).
  class Read {
   public:
    Read(uint64_t offset_bytes, size_t size_bytes)
        : offset_bytes_(offset_bytes), size_bytes_(size_bytes) {}
    Read(const Read&) = delete;
    Read& operator=(const Read&) = delete;

   private:
    friend class ExtentMap;
    uint64_t end() const { return offset_bytes_ + size_bytes_; }
    bool Needs(const Extent& extent) const {
      return number_ <= extent.last_read && extent.begin < end() && offset_bytes_ < extent.end();
    }

    const uint64_t offset_bytes_;
    const size_t size_bytes_;
    uint64_t number_ = 0;
    uint64_t own_end_ = 0;  // of the file, as written here before the read began
    boost::intrusive::list_member_hook<> hook_;
  };

  // `piece_bytes`: of one WRITE at most. `charged_bytes`: as of Buffer.
  ExtentMap(size_t piece_bytes, std::atomic<size_t>& charged_bytes)
      : piece_bytes_(piece_bytes), charged_bytes_(charged_bytes) {}

  // --- writing

  // The first extent that must leave its state before [begin, end) may be written with `context`:
  // one that is kWriting, or that was written with another context; null: none.
  Extent* FindObstacle(uint64_t begin, uint64_t end, const Context& context);
  // The file ends there, before the first write to a map without live data; UINT64_MAX: not known.
  void SetFileEnd(uint64_t file_end_bytes);
  // The end of what was written here and that the server may lose, or did not get; 0: none.
  uint64_t own_end() const { return live_ == 0 ? 0 : own_end_; }
  // Copies as much of `data` as one WRITE takes. Returns the bytes taken, at least one.
  // Preconditions: no obstacle in the range of `data`. Throws std::bad_alloc.
  size_t Write(uint64_t offset_bytes, std::span<const std::byte> data, const Context& context);
  // Joins dirty extents that touch, as far as one WRITE takes them. Best effort.
  void JoinDirty();
  // The dirty extent of the lowest offset from `begin` on; null: none.
  Extent* NextDirty(uint64_t begin = 0);
  struct Range {
    uint64_t begin, end;
  };
  // The holes between [begin, end) and dirty extents of `context` beside it, where the file has
  // nothing (E5). Preconditions: others have not written to it.
  std::array<std::optional<Range>, 2> FindGaps(uint64_t begin, uint64_t end,
                                               const Context& context) const;

  // Preconditions of these four: the state before it, as in the table.
  void StartWrite(Extent& extent);
  // The server has `count_bytes` of it; the rest is dirty again. Throws std::bad_alloc, where not
  // all was written: then call NotWritten().
  void Written(Extent& extent, size_t count_bytes, bool is_stable, uint64_t verifier);
  void NotWritten(Extent& extent);
  void Refused(Extent& extent);

  // The number of the last WRITE that was answered and is not stable: what a COMMIT that is sent
  // now covers.
  uint64_t last_written() const { return last_written_; }
  // The context of an extent that is kUnstable; null: none is.
  Context UnstableContext() const;
  // After a COMMIT that was sent at `last_written`: its data is stable where it was written with
  // the same `verifier`, and dirty again elsewhere.
  void Committed(uint64_t last_written, uint64_t verifier);
  // The server refused the COMMIT.
  void CommitRefused(uint64_t last_written);

  // The file was cut, or made longer, on the server. Preconditions: no live extents.
  void Truncate(uint64_t size_bytes);

  size_t dirty_bytes() const { return dirty_bytes_; }
  size_t dirty_extents() const { return dirty_.size(); }
  size_t unstable_bytes() const { return unstable_bytes_; }
  // Extents that are not kKept: 0 where the server has all on stable storage.
  size_t live_extents() const { return live_; }
  bool is_empty() const { return extents_.empty(); }

  // --- reading

  // Brackets a READ: what the map holds when it begins is there at its end.
  void BeginRead(Read& read);
  // True if the read needs no READ: all is shown here, is a hole (E5), or lies behind
  // `file_end_bytes`; UINT64_MAX: not known. `only_ours`: others have not written to it.
  bool HasAll(const Read& read, uint64_t file_end_bytes, bool only_ours) const;
  // Shows in `into`, of which the server filled `count_bytes`, what it may not know. Returns the
  // bytes that are valid then. Bytes between what the server brought and what was written here
  // behind it are zeros.
  size_t EndRead(Read& read, std::span<std::byte> into, size_t count_bytes);

 private:
  using Extents = std::map<uint64_t, Extent>;  // by Extent::begin
  using Dirty = boost::intrusive::set<
      Extent,
      boost::intrusive::member_hook<Extent, boost::intrusive::set_member_hook<>,
                                    &Extent::dirty_hook_>,
      boost::intrusive::key_of_value<ByBegin>>;
  using Reads = boost::intrusive::list<
      Read, boost::intrusive::member_hook<Read, boost::intrusive::list_member_hook<>,
                                          &Read::hook_>>;

  Extents::iterator FirstOverlap(uint64_t begin);
  Extents::const_iterator FirstOverlap(uint64_t begin) const;
  size_t Extend(Extent& extent, std::span<const std::byte> data);
  std::shared_ptr<Buffer> BufferFor(const Extent& extent, size_t more_bytes);
  void Remove(uint64_t begin, uint64_t end);
  void RemoveFrom(Extents::iterator at, uint64_t begin, uint64_t end);
  Extents::iterator Split(Extents::iterator at, uint64_t offset_bytes);
  void Erase(Extents::iterator at);
  void SetState(Extent& extent, State state);
  void Resize(Extent& extent, size_t size_bytes);
  void Drop(Extent& extent);
  bool IsNeeded(const Extent& extent) const;

  // Whether nothing but what is here can lie at `begin` and behind it.
  bool IsSparse(uint64_t begin) const { return live_ != 0 && begin >= sparse_from_; }
  static bool IsShown(const Extent& extent, const Read& read) {
    return extent.state != State::kKept || read.Needs(extent);
  }

  const size_t piece_bytes_;
  std::atomic<size_t>& charged_bytes_;
  Extents extents_;
  Dirty dirty_;
  Reads reads_;
  uint64_t reads_begun_ = 0;
  uint64_t last_written_ = 0;
  // Since the map was last without live data:
  uint64_t own_end_ = 0;               // the end of what was written
  uint64_t sparse_from_ = UINT64_MAX;  // E5
  size_t dirty_bytes_ = 0, unstable_bytes_ = 0, live_ = 0;
};

}  // namespace nfswalk::data

#endif  // NFSWALK_NFSCLIENT_DATA_EXTENT_MAP_H_
