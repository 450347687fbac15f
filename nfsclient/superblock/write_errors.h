// write_errors: errors of write-back, reported once to each file that was open when they occurred
// (errseq_t), and to the next opener where none was told.
//
// An error is kept with its inode until every such file has heard of it, or is closed. Opens and
// calls of files without errors only read two words.
//
// Thread safety: all functions. A Seen is guarded by the table.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_WRITE_ERRORS_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_WRITE_ERRORS_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <system_error>
#include <unordered_map>

#include "nfsclient/icache/inode_ref.h"

namespace nfswalk::nfs {

class WriteErrors {
 public:
  static constexpr size_t kErrorsMax = 1024;
  // The number of the last error that an open file was told.
  using Seen = uint64_t;

  // errseq_sample(): for a file that is opened. An error that none was told is not seen yet.
  Seen Sample(const icache::Inode& inode) const {
    if (count_.load() == 0) return last_.load();
    const std::lock_guard lock(mutex_);
    const auto found = errors_.find(&inode);
    const bool is_new = found != errors_.end() && !found->second.was_reported;
    return is_new ? found->second.number - 1 : last_.load();
  }
  // mapping_set_error(): the later error replaces the earlier. Without memory, or beyond kErrorsMax
  // that none was told, all files are.
  void Set(icache::Inode& inode, std::errc error) try {
    DropHeard();
    const std::lock_guard lock(mutex_);
    if (errors_.size() == kErrorsMax && !errors_.contains(&inode)) return SetOfAll(error);
    Error& entry = errors_[&inode];
    if (!entry.inode) entry.inode = icache::Hold(inode);
    entry.error = error;
    entry.number = last_.fetch_add(1) + 1;
    entry.was_reported = false;
    CountErrors();
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    SetOfAll(error);
  }
  // errseq_check_and_advance().
  [[nodiscard]] std::errc CheckAndAdvance(const icache::Inode& inode, Seen& seen) {
    if (count_.load() == 0) return {};
    const std::lock_guard lock(mutex_);
    if (number_of_all_ > seen) {
      seen = number_of_all_;
      return of_all_;
    }
    const auto found = errors_.find(&inode);
    if (found == errors_.end() || found->second.number <= seen) return {};
    seen = found->second.number;
    found->second.was_reported = true;
    return found->second.error;
  }
  // filemap_check_wb_err(): the same, and the next CheckAndAdvance() of that file has it again.
  [[nodiscard]] std::errc Check(const icache::Inode& inode, Seen seen) {
    return CheckAndAdvance(inode, seen);
  }
  // Returns what Check() would, and that is not reported by this.
  [[nodiscard]] std::errc Peek(const icache::Inode& inode, Seen seen) const {
    if (count_.load() == 0) return {};
    const std::lock_guard lock(mutex_);
    if (number_of_all_ > seen) return of_all_;
    const auto found = errors_.find(&inode);
    const bool is_new = found != errors_.end() && found->second.number > seen;
    return is_new ? found->second.error : std::errc{};
  }
  // One that none was told, if there is any.
  [[nodiscard]] std::errc FindUnreported() const {
    const std::lock_guard lock(mutex_);
    for (const auto& [inode, error] : errors_) {
      if (!error.was_reported) return error.error;
    }
    return {};
  }
  // Gives up the inodes of errors that all have heard of.
  void DropHeard() {
    Errors heard;  // a reference goes without the mutex
    const std::lock_guard lock(mutex_);
    TakeHeard(heard);
    CountErrors();
  }
  // Before the inode cache is destroyed.
  void Clear() {
    Errors all;
    const std::lock_guard lock(mutex_);
    errors_.swap(all);
    CountErrors();
  }

 private:
  struct Error {
    icache::InodeRef inode;
    std::errc error{};
    uint64_t number = 0;
    bool was_reported = false;
  };

  using Errors = std::unordered_map<const icache::Inode*, Error>;

  // Moves errors that all files have heard of. Preconditions: mutex_.
  void TakeHeard(Errors& heard) {
    for (auto next = errors_.begin(); next != errors_.end();) {
      const auto at = next++;
      if (!at->second.was_reported || at->first->opens.is_open()) continue;
      heard.insert(errors_.extract(at));
    }
  }

  // These two: preconditions: mutex_.
  void SetOfAll(std::errc error) {
    of_all_ = error;
    number_of_all_ = last_.fetch_add(1) + 1;
    CountErrors();
  }
  void CountErrors() { count_.store(errors_.size() + (number_of_all_ != 0 ? 1 : 0)); }

  std::atomic<size_t> count_{0};   // of what is below
  std::atomic<uint64_t> last_{0};  // number of an error
  mutable std::mutex mutex_;       // a leaf
  Errors errors_;
  std::errc of_all_{};  // could not be kept with its inode
  uint64_t number_of_all_ = 0;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_WRITE_ERRORS_H_
