// delegated_inodes: the files and directories that the server has delegated (protocol::Delegation),
// files with the open file that the delegation came with, which later opens share.
//
// Contract    An inode is in the table if and only if its icache::kDelegated is set, or its record
//             rests: both change under the lock of its part of the table. What has ended waits in a
//             list until it is destroyed by a thread that may wait, which returns it to the server
//             and closes what no open file shares.
// Order       The locks that protocol::Delegation::Watch() tells of, a part's lock, Inode::lock. No
//             call to the server, and of a Delegation only NoteUsed(), with a part's lock held.
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_DELEGATED_INODES_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_DELEGATED_INODES_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nfsclient/icache/inode_ref.h"
#include "nfsclient/protocol/protocol.h"

namespace nfswalk::nfs {

class DelegatedInodes {
 public:
  // Destroyed from the last member to the first.
  struct Record {
    icache::InodeRef inode;
    std::shared_ptr<protocol::OpenState> open;  // of a file
    std::unique_ptr<protocol::Delegation> delegation;

   private:
    friend class DelegatedInodes;
    bool has_ended = false;  // this and below: under the part's lock
    bool rests = false;
    std::unique_ptr<Record> next = nullptr;  // in the list of those that have ended
  };

  DelegatedInodes() = default;
  DelegatedInodes(const DelegatedInodes&) = delete;
  DelegatedInodes& operator=(const DelegatedInodes&) = delete;

  // Adds a record, and calls `begin()` before another thread can end it. False if that has been
  // done, or the inode has a record: `record` is left. Preconditions: it is watched.
  template <class Begin>
  [[nodiscard]] bool Add(std::unique_ptr<Record>& record, Begin begin) {
    Part& part = PartOf(*record->inode);
    const std::lock_guard lock(part.mutex);
    if (record->has_ended || is_closed_) return false;
    const auto [place, is_new] = part.records.try_emplace(record->inode.get());
    if (!is_new) return false;
    place->second = std::move(record);
    size_.fetch_add(1);
    begin();
    return true;
  }
  // Ends a record, which is not added any more; calls `end()` if it was, and the record waits to be
  // destroyed. Returns whether it does.
  template <class Stop>
  bool End(Record& record, Stop end) {
    Part& part = PartOf(*record.inode);
    const std::lock_guard lock(part.mutex);
    record.has_ended = true;
    const auto found = part.records.find(record.inode.get());
    if (found == part.records.end() || found->second.get() != &record) return false;
    Drop(TakeLocked(part, found, end));
    return true;
  }
  // Has a record rest, and calls `rest()`; false if it does already, or has ended. Leaves one that
  // is not added.
  template <class Stop>
  bool Rest(Record& record, Stop rest) {
    Part& part = PartOf(*record.inode);
    const std::lock_guard lock(part.mutex);
    if (record.has_ended) return false;
    const auto found = part.records.find(record.inode.get());
    if (found == part.records.end() || found->second.get() != &record) return true;
    if (std::exchange(record.rests, true)) return false;
    rest();
    return true;
  }
  // Ends the rest of an inode's record, and calls `go_on()`, if it rests.
  template <class Begin>
  void Wake(const icache::Inode& inode, Begin go_on) {
    Part& part = PartOf(inode);
    const std::lock_guard lock(part.mutex);
    const auto found = part.records.find(&inode);
    if (found == part.records.end() || !std::exchange(found->second->rests, false)) return;
    go_on();
  }
  bool Has(const icache::Inode& inode);
  // From now on nothing is added.
  void Close() { is_closed_.store(true); }
  bool is_closed() const { return is_closed_.load(); }
  // Ends that of an inode, for the caller to destroy; null if it has none.
  template <class Stop>
  std::unique_ptr<Record> Take(const icache::Inode& inode, Stop end) {
    Part& part = PartOf(inode);
    const std::lock_guard lock(part.mutex);
    const auto found = part.records.find(&inode);
    return found == part.records.end() ? nullptr : TakeLocked(part, found, end);
  }
  // The open file of a delegated file; null if it is none any more. The caller's open begins
  // before the delegation ends.
  std::shared_ptr<protocol::OpenState> Share(const icache::Inode& inode);

  size_t size() const { return size_.load(); }
  std::vector<icache::InodeRef> All();
  // Has a record wait to be destroyed. Preconditions: it is not in the table.
  void Drop(std::unique_ptr<Record> record);
  // One that waits to be, for the caller to destroy; null if there is none.
  std::unique_ptr<Record> TakeEnded();
  // Takes all, at the end of the mount, without a word to their inodes.
  void Clear();

 private:
  using Records = std::unordered_map<const icache::Inode*, std::unique_ptr<Record>>;
  struct alignas(64) Part {
    std::mutex mutex;
    Records records;
  };
  static constexpr size_t kParts = 16;

  Part& PartOf(const icache::Inode& inode);
  // Preconditions: the part's lock.
  template <class Stop>
  std::unique_ptr<Record> TakeLocked(Part& part, Records::iterator found, Stop end) {
    std::unique_ptr<Record> record = std::move(found->second);
    record->has_ended = true;
    part.records.erase(found);
    end();
    size_.fetch_sub(1);
    return record;
  }

  std::array<Part, kParts> parts_;
  std::atomic<size_t> size_{0};
  std::atomic<bool> is_closed_{false};
  std::mutex ended_mutex_;
  std::unique_ptr<Record> ended_;  // guarded by ended_mutex_; the latest is first
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_DELEGATED_INODES_H_
