#include "nfsclient/cli/show/owner_name.h"

#include <grp.h>
#include <pwd.h>

#include <unordered_map>

#include "nfsclient/cli/show/escape.h"

namespace nfswalk::cli {

const std::string& UserName(uint32_t uid) {
  static std::unordered_map<uint32_t, std::string> known;
  const auto [entry, is_new] = known.try_emplace(uid);
  if (is_new) {
    if (const passwd* user = getpwuid(uid)) entry->second = Escape(user->pw_name);
  }
  return entry->second;
}

const std::string& GroupName(uint32_t gid) {
  static std::unordered_map<uint32_t, std::string> known;
  const auto [entry, is_new] = known.try_emplace(gid);
  if (is_new) {
    if (const group* found = getgrgid(gid)) entry->second = Escape(found->gr_name);
  }
  return entry->second;
}

}  // namespace nfswalk::cli
