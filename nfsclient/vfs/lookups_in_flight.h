// lookups_in_flight: one LOOKUP per missing name for any number of threads (d_alloc_parallel();
// NAME-22).
//
// The first thread to Begin() a name owns it and sends the LOOKUP; the others sleep until it is
// done and search the dentry cache again. If the owner's LOOKUP failed, they begin again
// (lookup.cc) or send their own (path_lookup.cc). The owner searches the cache again after Begin()
// and inserts the result before it releases the ticket, so that no result is missed.
//
// The key is the directory's handle and the name, so that a name can be owned before its directory
// has a dentry: a whole-path lookup owns the next name, by TryBegin(), before other walks can reach
// its directory.
//
// Thread safety: any. May sleep.
#ifndef NFSWALK_NFSCLIENT_VFS_LOOKUPS_IN_FLIGHT_H_
#define NFSWALK_NFSCLIENT_VFS_LOOKUPS_IN_FLIGHT_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <expected>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/protocol/file_handle.h"
#include "rcu/sync_point.h"

namespace nfswalk::vfs {

class LookupsInFlight {
  using Clock = std::chrono::steady_clock;
  struct Shard {
    std::mutex mutex;
    std::condition_variable done;
    std::unordered_map<std::string, Clock::time_point> names;  // as KeyOf() has them: since when
  };

 public:
  // Owns one name; releases it and wakes the waiters when destroyed.
  class Ticket {
   public:
    Ticket() = default;  // owns nothing
    Ticket(Ticket&& other) noexcept
        : shard_(std::exchange(other.shard_, nullptr)), key_(std::move(other.key_)) {}
    Ticket& operator=(Ticket&& other) noexcept {
      GiveUp();
      shard_ = std::exchange(other.shard_, nullptr);
      key_ = std::move(other.key_);
      return *this;
    }
    ~Ticket() { GiveUp(); }
    bool owned() const { return shard_ != nullptr; }

   private:
    friend class LookupsInFlight;
    Ticket(Shard* shard, std::string key) : shard_(shard), key_(std::move(key)) {}

    void GiveUp() {
      if (shard_ == nullptr) return;
      {
        std::lock_guard guard(shard_->mutex);
        shard_->names.erase(key_);
      }
      shard_->done.notify_all();
    }

    Shard* shard_ = nullptr;
    std::string key_;
  };

  // Owns the name, or waits until its owner is done and returns a ticket that owns nothing. Errors:
  // timed_out (the thread's CallDeadline). Preconditions: the calling thread owns no name.
  std::expected<Ticket, std::errc> Begin(const protocol::FileHandle& directory,
                                         std::string_view name) {
    std::string key = KeyOf(directory, name);
    Shard& shard = ShardOf(key);
    std::unique_lock lock(shard.mutex);
    if (shard.names.emplace(key, Clock::now()).second) return Ticket(&shard, std::move(key));
    NFSWALK_SYNC_POINT("lookups:before-wait");  // with the mutex, which the owner needs
    if (!protocol::WaitUntil(shard.done, lock, protocol::CallDeadline::Current(),
                             [&] { return !shard.names.contains(key); })) {
      return std::unexpected(protocol::CallDeadline::Error());
    }
    return Ticket();
  }

  // For so long a caller waits for a listing: the server may answer other calls, and not it.
  static constexpr std::chrono::seconds kListingWaitMax{1};

  // Owns the listing of a directory: its names come with it, unless it is owned. Does not wait.
  Ticket TryBeginListing(const protocol::FileHandle& directory) { return TryBegin(directory, ""); }

  // Waits while the directory's listing is owned, until kListingWaitMax after it began. True if
  // it was owned and is no more. Errors: as Begin().
  std::expected<bool, std::errc> WaitForListing(const protocol::FileHandle& directory) {
    const std::string key = KeyOf(directory, "");
    Shard& shard = ShardOf(key);
    std::unique_lock lock(shard.mutex);
    const auto listing = shard.names.find(key);
    if (listing == shard.names.end()) return false;
    const auto wait_end = listing->second + kListingWaitMax;
    if (Clock::now() >= wait_end) return false;
    NFSWALK_SYNC_POINT("lookups:before-wait");  // as in Begin()
    const auto limit = protocol::CallDeadline::Current();
    if (protocol::WaitUntil(shard.done, lock, std::min(limit, wait_end),
                            [&] { return !shard.names.contains(key); })) {
      return true;
    }
    if (limit <= wait_end || protocol::Cancellation::IsCanceled())
      return std::unexpected(protocol::CallDeadline::Error());
    return false;
  }

  // Owns the name unless it is owned. Does not wait.
  Ticket TryBegin(const protocol::FileHandle& directory, std::string_view name) {
    std::string key = KeyOf(directory, name);
    Shard& shard = ShardOf(key);
    std::lock_guard lock(shard.mutex);
    if (!shard.names.emplace(key, Clock::now()).second) return {};
    return Ticket(&shard, std::move(key));
  }

 private:
  // Separated by '/', which no name contains.
  static std::string KeyOf(const protocol::FileHandle& directory, std::string_view name) {
    std::string key(reinterpret_cast<const char*>(directory.bytes().data()), directory.size());
    return key.append("/").append(name);
  }
  Shard& ShardOf(const std::string& key) {
    return shards_[std::hash<std::string>{}(key) % kShards];
  }

  static constexpr size_t kShards = 64;
  std::array<Shard, kShards> shards_;
};

}  // namespace nfswalk::vfs

#endif  // NFSWALK_NFSCLIENT_VFS_LOOKUPS_IN_FLIGHT_H_
