// owner_names: maps NFSv4's owner and group strings to ids and back (RFC 7530 5.9).
//
// A decimal string is the id itself, as usual with AUTH_SYS (RFC 7530 5.9, Linux'
// nfs4_disable_idmapping). "name@domain" is looked up in the account database if the domain is the
// local one (idmap_domain.h). All others are nobody (65534). Results, negative ones too, are cached
// for ten minutes (ttl_cache.h).
//
// Lookups run one after the other on a thread of their own, which the first one starts. No caller
// waits for them longer than an OwnerWait has it, nor while the one in progress takes longer than
// OwnerWait::kMax: until the answer comes the owner is nobody, which is not cached. The destructor
// joins the thread if it ends within OwnerWait::kMax, and else leaves it to its lookup.
//
// Thread safety: all functions of OwnerNames; OwnerWait: none.
#ifndef NFSWALK_NFSCLIENT_NFS4_OWNER_NAMES_H_
#define NFSWALK_NFSCLIENT_NFS4_OWNER_NAMES_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "nfsclient/nfs4/account_database.h"
#include "nfsclient/protocol/call_deadline.h"

namespace nfswalk::protocol {

// Bounds the time for which the reader of one reply waits for all its names: kMax from the first
// one that is looked up, but not beyond the thread's CallDeadline.
class OwnerWait {
 public:
  using Clock = CallDeadline::Clock;
  static constexpr std::chrono::seconds kMax{1};

  Clock::time_point Limit() {
    if (limit_ == Clock::time_point{}) {
      limit_ = std::min(Clock::now() + kMax, CallDeadline::Current());
    }
    return limit_;
  }

 private:
  Clock::time_point limit_{};  // none yet
};

class OwnerNames {
 public:
  // `domain`: if empty, that of `database`, when first needed.
  explicit OwnerNames(std::string_view domain = {},
                      AccountDatabase database = AccountDatabase::OfSystem());
  ~OwnerNames();
  OwnerNames(const OwnerNames&) = delete;
  OwnerNames& operator=(const OwnerNames&) = delete;

  // Return the id, or kNobody. Numbers take no lock and allocate nothing.
  uint32_t UidOf(std::string_view owner, OwnerWait& wait) const;
  uint32_t GidOf(std::string_view group, OwnerWait& wait) const;
  // Return "name@domain", or the number if it has no name or none is known in time. For servers
  // that refuse numbers (NFS4ERR_BADOWNER).
  std::string NameOfUid(uint32_t uid) const;
  std::string NameOfGid(uint32_t gid) const;

 private:
  class Lookups;
  const std::shared_ptr<Lookups> lookups_;  // shared with the thread
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_OWNER_NAMES_H_
