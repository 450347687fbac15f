#include "nfsclient/protocol/nfs4_owner.h"

#include <grp.h>
#include <pwd.h>
#include <strings.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "nfsclient/protocol/idmap_domain.h"
#include "nfsclient/protocol/ttl_cache.h"

namespace nfswalk::protocol {
namespace {

// Longer names are nobody without a query.
constexpr size_t kAccountBytesMax = 255;
constexpr size_t kRecordBytes = 1024;
constexpr size_t kRecordBytesMax = 1024 * 1024;

// Parses a decimal number without leading zeros (RFC 7530 5.9).
std::optional<uint32_t> NumberOf(std::string_view text) {
  if (text.empty() || (text.front() == '0' && text.size() > 1)) return std::nullopt;
  uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

struct Users {
  using Record = passwd;
  static constexpr auto kByName = getpwnam_r;
  static constexpr auto kById = getpwuid_r;
  static uint32_t IdOf(const passwd& record) { return record.pw_uid; }
  static std::string NameOf(const passwd& record) { return record.pw_name; }
};

struct Groups {
  using Record = group;
  static constexpr auto kByName = getgrnam_r;
  static constexpr auto kById = getgrgid_r;
  static uint32_t IdOf(const group& record) { return record.gr_gid; }
  static std::string NameOf(const group& record) { return record.gr_name; }
};

// All other errors may mean that the name does not exist (getpwnam_r(3)).
bool IsTransientError(int error) {
  return error == EIO || error == EMFILE || error == ENFILE || error == ENOMEM || error == ERANGE;
}

// Runs found(record) if the database has a record of `key`. Returns false on a transient error.
template <typename Record, typename Query, typename Key, typename Found>
bool QueryAccount(Query query, Key key, Found found) {
  std::vector<char> buffer(kRecordBytes);
  for (;;) {
    Record record;
    Record* result = nullptr;
    const int error = query(key, &record, buffer.data(), buffer.size(), &result);
    if (result != nullptr) found(*result);
    if (error == ERANGE && buffer.size() < kRecordBytesMax) {
      buffer.resize(buffer.size() * 4);
    } else if (error != EINTR) {
      return !IsTransientError(error);
    }
  }
}

// A cache in front of passwd(5) or group(5).
template <typename Kind>
class Accounts {
 public:
  uint32_t IdOf(std::string_view name) {
    const auto now = Clock::now();
    if (const std::optional<uint32_t> known = ids_.Find(name, now)) return *known;
    std::string key(name);
    uint32_t id = kNobody;
    const auto found = [&](const auto& record) { id = Kind::IdOf(record); };
    if (QueryAccount<typename Kind::Record>(Kind::kByName, key.c_str(), found)) {
      ids_.Store(std::move(key), id, now);
    }
    return id;
  }

  // Returns "" if `id` has no name.
  std::string NameOf(uint32_t id) {
    const auto now = Clock::now();
    if (const std::optional<std::string> known = names_.Find(id, now)) return *known;
    std::string name;
    const auto found = [&](const auto& record) { name = Kind::NameOf(record); };
    if (QueryAccount<typename Kind::Record>(Kind::kById, id, found)) names_.Store(id, name, now);
    return name;
  }

 private:
  using Clock = std::chrono::steady_clock;

  TtlCache<std::string, uint32_t> ids_;
  TtlCache<uint32_t, std::string> names_;
};

}  // namespace

class OwnerNames::Cache {
 public:
  explicit Cache(std::string_view domain) : domain_(domain) {}

  // Determined when first needed: numeric owners need no DNS.
  const std::string& domain() {
    std::call_once(domain_once_, [this] {
      if (domain_.empty()) domain_ = SystemIdmapDomain();
    });
    return domain_;
  }

  template <typename Kind>
  uint32_t IdOf(Accounts<Kind>& accounts, std::string_view owner) {
    const size_t at = owner.rfind('@');
    if (at == owner.npos || at == 0 || at > kAccountBytesMax) return kNobody;
    const std::string_view name = owner.substr(0, at);
    if (name.find('\0') != name.npos || !IsLocalDomain(owner.substr(at + 1))) return kNobody;
    return accounts.IdOf(name);
  }

  template <typename Kind>
  std::string NameOf(Accounts<Kind>& accounts, uint32_t id) {
    const std::string name = accounts.NameOf(id);
    return name.empty() ? std::to_string(id) : name + '@' + domain();
  }

  Accounts<Users> users;
  Accounts<Groups> groups;

 private:
  bool IsLocalDomain(std::string_view domain) {
    const std::string& local = this->domain();
    return domain.size() == local.size() &&
           strncasecmp(domain.data(), local.data(), local.size()) == 0;
  }

  std::once_flag domain_once_;
  std::string domain_;
};

OwnerNames::OwnerNames(std::string_view domain) : cache_(std::make_unique<Cache>(domain)) {}
OwnerNames::~OwnerNames() = default;

uint32_t OwnerNames::UidOf(std::string_view owner) const {
  const std::optional<uint32_t> number = NumberOf(owner);
  return number ? *number : cache_->IdOf(cache_->users, owner);
}

uint32_t OwnerNames::GidOf(std::string_view group) const {
  const std::optional<uint32_t> number = NumberOf(group);
  return number ? *number : cache_->IdOf(cache_->groups, group);
}

std::string OwnerNames::NameOfUid(uint32_t uid) const { return cache_->NameOf(cache_->users, uid); }

std::string OwnerNames::NameOfGid(uint32_t gid) const {
  return cache_->NameOf(cache_->groups, gid);
}

const std::string& OwnerNames::domain() const { return cache_->domain(); }

}  // namespace nfswalk::protocol
