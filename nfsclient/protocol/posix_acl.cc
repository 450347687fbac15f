#include "nfsclient/protocol/posix_acl.h"

#include <endian.h>
#include <fmt/format.h>
#include <linux/posix_acl_xattr.h>

#include <cstring>
#include <tuple>

namespace nfswalk::protocol {
namespace {

constexpr uint16_t kRightsMax = 7;
constexpr size_t kHeaderBytes = sizeof(posix_acl_xattr_header);
constexpr size_t kEntryBytes = sizeof(posix_acl_xattr_entry);

bool IsNamed(const PosixAce& ace) {
  return ace.tag == PosixAce::kUser || ace.tag == PosixAce::kGroup;
}

bool IsAce(const PosixAce& ace) {
  switch (ace.tag) {
    case PosixAce::kUserObj:
    case PosixAce::kGroupObj:
    case PosixAce::kMask:
    case PosixAce::kOther:
      return ace.rights <= kRightsMax;
    case PosixAce::kUser:
    case PosixAce::kGroup:
      return ace.rights <= kRightsMax && ace.id != PosixAce::kNoId;
    default:
      return false;
  }
}

}  // namespace

bool IsValid(const PosixAcl& acl) {
  uint32_t tags = 0;
  const PosixAce* before = nullptr;
  for (const PosixAce& ace : acl) {
    if (!IsAce(ace)) return false;
    const auto place = [](const PosixAce& of) {
      return std::tuple(of.tag, IsNamed(of) ? of.id : 0);
    };
    if (before != nullptr && place(*before) >= place(ace)) return false;
    before = &ace;
    tags |= ace.tag;
  }
  constexpr uint32_t kOfMode = PosixAce::kUserObj | PosixAce::kGroupObj | PosixAce::kOther;
  const bool has_named = (tags & (PosixAce::kUser | PosixAce::kGroup)) != 0;
  return (tags & kOfMode) == kOfMode && (!has_named || (tags & PosixAce::kMask) != 0);
}

std::optional<PosixAcl> ReadPosixAcl(std::string_view value) {
  if (value.size() < kHeaderBytes || (value.size() - kHeaderBytes) % kEntryBytes != 0) {
    return std::nullopt;
  }
  posix_acl_xattr_header header;
  std::memcpy(&header, value.data(), kHeaderBytes);
  if (le32toh(header.a_version) != POSIX_ACL_XATTR_VERSION) return std::nullopt;
  PosixAcl acl;
  acl.reserve((value.size() - kHeaderBytes) / kEntryBytes);
  for (value.remove_prefix(kHeaderBytes); !value.empty(); value.remove_prefix(kEntryBytes)) {
    posix_acl_xattr_entry entry;
    std::memcpy(&entry, value.data(), kEntryBytes);
    PosixAce& ace = acl.emplace_back(
        PosixAce{le16toh(entry.e_tag), le16toh(entry.e_perm), le32toh(entry.e_id)});
    if (!IsNamed(ace)) ace.id = PosixAce::kNoId;
  }
  if (!acl.empty() && !IsValid(acl)) return std::nullopt;
  return acl;
}

std::string PosixAclValue(const PosixAcl& acl) {
  const posix_acl_xattr_header header{.a_version = htole32(POSIX_ACL_XATTR_VERSION)};
  std::string value(reinterpret_cast<const char*>(&header), kHeaderBytes);
  for (const PosixAce& ace : acl) {
    const posix_acl_xattr_entry entry{
        .e_tag = htole16(ace.tag), .e_perm = htole16(ace.rights), .e_id = htole32(ace.id)};
    value.append(reinterpret_cast<const char*>(&entry), kEntryBytes);
  }
  return value;
}

PosixAcl PosixAclOf(uint32_t mode) {
  const auto rights = [mode](int shift) {
    return static_cast<uint16_t>(mode >> shift & kRightsMax);
  };
  return {{PosixAce::kUserObj, rights(6)},
          {PosixAce::kGroupObj, rights(3)},
          {PosixAce::kOther, rights(0)}};
}

bool IsAsMode(const PosixAcl& acl) {
  constexpr size_t kEntriesOfMode = 3;
  return acl.size() == kEntriesOfMode;
}

uint32_t ClassModeOf(const PosixAcl& acl) {
  uint32_t group = 0, others = 0, mask = kRightsMax;
  std::optional<uint32_t> named;  // what all of them may do
  for (const PosixAce& ace : acl) {
    const uint32_t rights = ace.rights;
    if (ace.tag == PosixAce::kGroupObj) group = rights;
    if (ace.tag == PosixAce::kOther) others = rights;
    if (ace.tag == PosixAce::kMask) mask = rights;
    if (IsNamed(ace)) named = named.value_or(kRightsMax) & rights;
  }
  const uint32_t all = named ? *named & mask : kRightsMax;
  return (group & mask & all) << 3 | (others & all);
}

std::string AceText(const PosixAce& ace) {
  const auto kind = [&] {
    switch (ace.tag) {
      case PosixAce::kUserObj:
      case PosixAce::kUser:
        return "user";
      case PosixAce::kMask:
        return "mask";
      case PosixAce::kOther:
        return "other";
      default:
        return "group";
    }
  };
  return fmt::format("{}:{}:{}{}{}", kind(), IsNamed(ace) ? std::to_string(ace.id) : "",
                     (ace.rights & 4) != 0 ? 'r' : '-', (ace.rights & 2) != 0 ? 'w' : '-',
                     (ace.rights & 1) != 0 ? 'x' : '-');
}

}  // namespace nfswalk::protocol
