// account_database: the names and numbers of users and groups, and the domain of "name@domain".
//
// Thread safety: all functions of the system's; each may block on a directory service.
#ifndef NFSWALK_NFSCLIENT_NFS4_ACCOUNT_DATABASE_H_
#define NFSWALK_NFSCLIENT_NFS4_ACCOUNT_DATABASE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace nfswalk::protocol {

inline constexpr uint32_t kNobody = 65534;

struct AccountDatabase {
  enum class Kind : uint8_t { kUser, kGroup };

  // passwd(5) and group(5) through nsswitch.conf(5), and SystemIdmapDomain().
  static AccountDatabase OfSystem();

  std::function<std::string()> domain;
  // Return kNobody and "" if there is none, nullopt if the service has failed for now.
  std::function<std::optional<uint32_t>(Kind, const std::string& name)> id_of;
  std::function<std::optional<std::string>(Kind, uint32_t id)> name_of;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_ACCOUNT_DATABASE_H_
