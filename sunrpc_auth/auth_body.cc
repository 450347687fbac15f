#include "sunrpc_auth/auth_body.h"

#include <rpc/rpc.h>

#include <algorithm>
#include <span>

namespace nfswalk::sunrpc_auth {
namespace {

std::span<const uint32_t> CarriedGroups(const Credential& credential) {
  return credential.groups().first(std::min(credential.groups().size(), kAuthSysGroupsMax));
}

// A body and what it was made of.
struct LastBody {
  AuthBody body{};
  uint32_t uid = 0, gid = 0;
  size_t group_count = 0, name_bytes = 0;
  bool is_set = false;
  std::array<uint32_t, kAuthSysGroupsMax> groups{};
  std::array<char, kMachineNameBytesMax> name{};

  bool IsOf(const Credential& credential, std::string_view machine_name) const {
    return is_set && body.flavor == credential.flavor() && uid == credential.uid() &&
           gid == credential.gid() && machine_name == std::string_view(name.data(), name_bytes) &&
           std::ranges::equal(CarriedGroups(credential), std::span(groups).first(group_count));
  }
};

}  // namespace

std::expected<AuthBody, std::errc> MarshalAuthBody(const Credential& credential,
                                                   std::string_view machine_name, uint32_t stamp) {
  AuthBody body;
  body.flavor = credential.flavor();
  body.size = 0;
  if (body.flavor == Flavor::kNone) return body;

  // xdr_authunix_parms takes a C string and a writable group array.
  std::array<char, kMachineNameBytesMax + 1> name;
  const size_t name_bytes = std::min(machine_name.size(), kMachineNameBytesMax);
  *std::copy_n(machine_name.begin(), name_bytes, name.begin()) = '\0';
  std::array<gid_t, kAuthSysGroupsMax> groups;
  const std::span<const uint32_t> carried = CarriedGroups(credential);
  std::ranges::copy(carried, groups.begin());

  authunix_parms parameters{};
  parameters.aup_time = stamp;
  parameters.aup_machname = name.data();
  parameters.aup_uid = credential.uid();
  parameters.aup_gid = credential.gid();
  parameters.aup_len = static_cast<u_int>(carried.size());
  parameters.aup_gids = groups.data();

  XDR stream;
  xdrmem_create(&stream, body.bytes.data(), static_cast<u_int>(body.bytes.size()), XDR_ENCODE);
  const bool fits = xdr_authunix_parms(&stream, &parameters) != 0;
  body.size = fits ? xdr_getpos(&stream) : 0;
  xdr_destroy(&stream);
  if (!fits) return std::unexpected(std::errc::value_too_large);
  return body;
}

std::expected<const AuthBody*, std::errc> CachedAuthBody(const Credential& credential,
                                                         std::string_view machine_name) {
  thread_local LastBody last;
  machine_name = machine_name.substr(0, kMachineNameBytesMax);
  if (last.IsOf(credential, machine_name)) return &last.body;
  const auto body = MarshalAuthBody(credential, machine_name, 0);
  if (!body) return std::unexpected(body.error());
  const std::span<const uint32_t> carried = CarriedGroups(credential);
  last = {.body = *body,
          .uid = credential.uid(),
          .gid = credential.gid(),
          .group_count = carried.size(),
          .name_bytes = machine_name.size(),
          .is_set = true};
  std::ranges::copy(carried, last.groups.begin());
  std::ranges::copy(machine_name, last.name.begin());
  return &last.body;
}

}  // namespace nfswalk::sunrpc_auth
