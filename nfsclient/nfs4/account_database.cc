#include "nfsclient/nfs4/account_database.h"

#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <vector>

#include "nfsclient/nfs4/idmap_domain.h"

namespace nfswalk::protocol {
namespace {

constexpr size_t kRecordBytes = 1024;
constexpr size_t kRecordBytesMax = 1024 * 1024;

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

// Returns value_of(record) of `key`, `none` if there is no such record, nullopt after a transient
// error.
template <typename Record, typename Query, typename Key, typename Value, typename ValueOf>
std::optional<Value> QueryAccount(Query query, Key key, Value none, ValueOf value_of) {
  std::vector<char> buffer(kRecordBytes);
  for (;;) {
    Record record;
    Record* result = nullptr;
    const int error = query(key, &record, buffer.data(), buffer.size(), &result);
    if (result != nullptr) return value_of(*result);
    if (error == ERANGE && buffer.size() < kRecordBytesMax) {
      buffer.resize(buffer.size() * 4);
    } else if (error != EINTR) {
      return IsTransientError(error) ? std::nullopt : std::optional(none);
    }
  }
}

template <typename Accounts>
std::optional<uint32_t> IdOf(const std::string& name) {
  return QueryAccount<typename Accounts::Record>(Accounts::kByName, name.c_str(), kNobody,
                                                 Accounts::IdOf);
}

template <typename Accounts>
std::optional<std::string> NameOf(uint32_t id) {
  return QueryAccount<typename Accounts::Record>(Accounts::kById, id, std::string(),
                                                 Accounts::NameOf);
}

}  // namespace

AccountDatabase AccountDatabase::OfSystem() {
  return {.domain = SystemIdmapDomain,
          .id_of =
              [](Kind kind, const std::string& name) {
                return kind == Kind::kUser ? IdOf<Users>(name) : IdOf<Groups>(name);
              },
          .name_of =
              [](Kind kind, uint32_t id) {
                return kind == Kind::kUser ? NameOf<Users>(id) : NameOf<Groups>(id);
              }};
}

}  // namespace nfswalk::protocol
