// ttl_cache: a map whose entries expire after ten minutes.
//
// Holds at most kEntriesMax entries: the insertion that would exceed the limit clears the map
// first, which bounds the memory that a server can make the client use.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_NFS4_TTL_CACHE_H_
#define NFSWALK_NFSCLIENT_NFS4_TTL_CACHE_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

namespace nfswalk::protocol {

template <typename Key, typename Value>
class TtlCache {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kEntriesMax = 4096;
  static constexpr Clock::duration kAgeMax = std::chrono::minutes(10);

  // Returns the value of `key`, of any type that compares with Key, if it has not expired.
  template <typename LookupKey>
  std::optional<Value> Find(const LookupKey& key, Clock::time_point now) const {
    const std::shared_lock lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || now >= found->second.until) return std::nullopt;
    return found->second.value;
  }

  void Store(Key key, Value value, Clock::time_point now) {
    const std::unique_lock lock(mutex_);
    if (entries_.size() >= kEntriesMax) entries_.clear();
    entries_.insert_or_assign(std::move(key), Entry{std::move(value), now + kAgeMax});
  }

 private:
  struct Entry {
    Value value;
    Clock::time_point until;
  };

  mutable std::shared_mutex mutex_;
  std::map<Key, Entry, std::less<>> entries_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_TTL_CACHE_H_
