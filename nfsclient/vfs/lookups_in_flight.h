// lookups_in_flight: one LOOKUP per missing name, however many threads want it (NAME-22).
//
// The first thread to Begin() a name owns it and asks the server; the others sleep until it is done
// and then look at the dentry cache again. If the owner came back without an answer, as from a
// server that is gone, they begin anew (lookup.cc) or ask each for itself (path_lookup.cc). The
// owner searches the cache once more after Begin() and inserts its answer before the ticket goes,
// so nobody can miss an answer that came in between.
//
// A name is known by its directory's handle, so that it can be taken before the directory has a
// dentry: whoever brings a whole path owns the next name, with TryBegin(), before others can come
// to its directory.
//
// Thread safety: any. May sleep.
#ifndef NFSWALK_NFSCLIENT_VFS_LOOKUPS_IN_FLIGHT_H_
#define NFSWALK_NFSCLIENT_VFS_LOOKUPS_IN_FLIGHT_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "nfsclient/protocol/file_handle.h"
#include "rcu/sync_point.h"

namespace nfswalk::vfs {

class LookupsInFlight {
  struct Shard {
    std::mutex mutex;
    std::condition_variable done;
    std::unordered_set<std::string> names;  // as KeyOf() has them
  };

 public:
  // Ownership of one name; gives it up, and wakes those who wait, when destroyed.
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

  // Takes the name, or waits until its owner is done: a ticket that is not owned says so. Whoever
  // calls this owns no other name.
  Ticket Begin(const protocol::FileHandle& directory, std::string_view name) {
    std::string key = KeyOf(directory, name);
    Shard& shard = ShardOf(key);
    std::unique_lock lock(shard.mutex);
    if (shard.names.insert(key).second) return Ticket(&shard, std::move(key));
    NFSWALK_SYNC_POINT("lookups:before-wait");  // holds the mutex, which the owner will need
    shard.done.wait(lock, [&] { return !shard.names.contains(key); });
    return {};
  }

  // Takes the name, or leaves it to its owner. Does not wait.
  Ticket TryBegin(const protocol::FileHandle& directory, std::string_view name) {
    std::string key = KeyOf(directory, name);
    Shard& shard = ShardOf(key);
    std::lock_guard lock(shard.mutex);
    if (!shard.names.insert(key).second) return {};
    return Ticket(&shard, std::move(key));
  }

 private:
  // A slash, which no name holds, stands before the name.
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
