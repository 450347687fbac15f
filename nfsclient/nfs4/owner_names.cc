#include "nfsclient/nfs4/owner_names.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include "nfsclient/nfs4/ttl_cache.h"
#include "rcu/sync_point.h"

namespace nfswalk::protocol {
namespace {

using Clock = OwnerWait::Clock;
using Kind = AccountDatabase::Kind;

// Longer names and domains are not looked up: their owner is nobody.
constexpr size_t kAccountBytesMax = 255;
constexpr size_t kDomainBytesMax = 255;
// Limit of lookups that wait for the one in progress.
constexpr size_t kQueuedMax = 1024;

// Parses a decimal number without leading zeros (RFC 7530 5.9).
std::optional<uint32_t> NumberOf(std::string_view text) {
  if (text.empty() || (text.front() == '0' && text.size() > 1)) return std::nullopt;
  uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

// An owner as "name@domain".
struct QualifiedName {
  std::string_view name;
  std::string_view domain;
};

std::optional<QualifiedName> Split(std::string_view owner) {
  const size_t at = owner.rfind('@');
  if (at == owner.npos || at == 0 || at > kAccountBytesMax) return std::nullopt;
  const QualifiedName split{owner.substr(0, at), owner.substr(at + 1)};
  if (split.domain.size() > kDomainBytesMax || split.name.find('\0') != split.name.npos) {
    return std::nullopt;
  }
  return split;
}

bool IsSameDomain(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

// The caches, and the thread that fills them.
class OwnerNames::Lookups : public std::enable_shared_from_this<Lookups> {
 public:
  Lookups(std::string_view domain, AccountDatabase database)
      : database_(std::move(database)), domain_(domain), domain_is_known_(!domain.empty()) {}

  uint32_t IdOf(Kind kind, std::string_view owner, OwnerWait& wait) {
    const std::optional<QualifiedName> split = Split(owner);
    if (!split || (domain_is_known_.load() && !IsSameDomain(split->domain, domain_))) {
      return kNobody;
    }
    const auto find = [&] { return ids_[static_cast<size_t>(kind)].Find(owner, Clock::now()); };
    if (const std::optional<uint32_t> known = find()) return *known;
    Await({kind, std::string(owner)}, find, wait);
    return find().value_or(kNobody);
  }

  std::string NameOf(Kind kind, uint32_t id) {
    const auto find = [&] { return names_[static_cast<size_t>(kind)].Find(id, Clock::now()); };
    std::optional<std::string> name = find();
    if (!name) {
      OwnerWait wait;
      Await({kind, id}, find, wait);
      name = find();
    }
    return name && !name->empty() ? *name : std::to_string(id);
  }

  // Ends the thread, but not a lookup that does not return.
  void Stop() {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
    if (!thread_.joinable()) return;
    const bool ended = changed_.wait_until(lock, Clock::now() + OwnerWait::kMax,
                                           [this] { return thread_has_ended_; });
    lock.unlock();
    ended ? thread_.join() : thread_.detach();
  }

 private:
  // A query for an owner's id, or for an id's name.
  using Query = std::pair<Kind, std::variant<std::string, uint32_t>>;

  // Has `query` looked up, unless find() has its result by now. Returns when that is done, whatever
  // its result, or when the wait ends.
  template <class Find>
  void Await(const Query& query, const Find& find, OwnerWait& wait) {
    NFSWALK_SYNC_POINT("owner_names:before-queue");
    std::unique_lock lock(mutex_);
    const auto is_queued = [&] { return std::ranges::find(queue_, query) != queue_.end(); };
    if (!is_queued()) {
      // A result is stored before its query leaves the queue.
      if (find()) return;
      if (queue_.size() >= kQueuedMax || !StartThread()) return;
      queue_.push_back(query);
      changed_.notify_all();
    }
    while (is_queued()) {
      const Clock::time_point limit = std::min(wait.Limit(), overdue_);
      if (Clock::now() >= limit) return;
      changed_.wait_until(lock, limit);
    }
  }

  // Preconditions: mutex_ is held.
  bool StartThread() {
    if (stopped_ || thread_.joinable()) return !stopped_;
    try {
      thread_ = std::thread([self = shared_from_this()] { self->Serve(); });
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }

  void Serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
      if (stopped_) break;
      const Query& query = queue_.front();  // stays where it is
      overdue_ = Clock::now() + OwnerWait::kMax;
      lock.unlock();
      try {
        LookUp(query);
      } catch (const std::bad_alloc&) {  // as after a transient error
      }
      lock.lock();
      overdue_ = Clock::time_point::max();
      queue_.pop_front();
      changed_.notify_all();
    }
    thread_has_ended_ = true;
    changed_.notify_all();
  }

  void LookUp(const Query& query) {
    if (!domain_is_known_.load()) {
      domain_ = database_.domain();
      domain_is_known_.store(true);
    }
    const auto& [kind, key] = query;
    if (const auto* owner = std::get_if<std::string>(&key)) {
      const QualifiedName split = *Split(*owner);
      if (!IsSameDomain(split.domain, domain_)) return;
      const std::optional<uint32_t> id = database_.id_of(kind, std::string(split.name));
      if (id) ids_[static_cast<size_t>(kind)].Store(*owner, *id, Clock::now());
    } else {
      const uint32_t id = std::get<uint32_t>(key);
      std::optional<std::string> name = database_.name_of(kind, id);
      if (name && !name->empty()) *name += '@' + domain_;
      if (name) names_[static_cast<size_t>(kind)].Store(id, *name, Clock::now());
    }
  }

  const AccountDatabase database_;
  std::string domain_;  // constant once it is known
  std::atomic<bool> domain_is_known_;
  std::array<TtlCache<std::string, uint32_t>, 2> ids_;  // this and below: by kind
  std::array<TtlCache<uint32_t, std::string>, 2> names_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Query> queue_;  // this and below: guarded by mutex_; the first is being looked up
  // When the lookup in progress has taken too long.
  Clock::time_point overdue_ = Clock::time_point::max();
  bool stopped_ = false;
  bool thread_has_ended_ = false;
  std::thread thread_;
};

OwnerNames::OwnerNames(std::string_view domain, AccountDatabase database)
    : lookups_(std::make_shared<Lookups>(domain, std::move(database))) {}

OwnerNames::~OwnerNames() { lookups_->Stop(); }

uint32_t OwnerNames::UidOf(std::string_view owner, OwnerWait& wait) const {
  const std::optional<uint32_t> number = NumberOf(owner);
  return number ? *number : lookups_->IdOf(Kind::kUser, owner, wait);
}

uint32_t OwnerNames::GidOf(std::string_view group, OwnerWait& wait) const {
  const std::optional<uint32_t> number = NumberOf(group);
  return number ? *number : lookups_->IdOf(Kind::kGroup, group, wait);
}

std::string OwnerNames::NameOfUid(uint32_t uid) const { return lookups_->NameOf(Kind::kUser, uid); }

std::string OwnerNames::NameOfGid(uint32_t gid) const {
  return lookups_->NameOf(Kind::kGroup, gid);
}

}  // namespace nfswalk::protocol
