#include "sunrpc_auth/auth_body.h"

#include <rpc/rpc.h>

#include <algorithm>

namespace nfswalk::sunrpc_auth {

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
  const size_t group_count = std::min(credential.groups().size(), kAuthSysGroupsMax);
  std::copy_n(credential.groups().begin(), group_count, groups.begin());

  authunix_parms parameters{};
  parameters.aup_time = stamp;
  parameters.aup_machname = name.data();
  parameters.aup_uid = credential.uid();
  parameters.aup_gid = credential.gid();
  parameters.aup_len = static_cast<u_int>(group_count);
  parameters.aup_gids = groups.data();

  XDR stream;
  xdrmem_create(&stream, body.bytes.data(), static_cast<u_int>(body.bytes.size()), XDR_ENCODE);
  const bool fits = xdr_authunix_parms(&stream, &parameters) != 0;
  body.size = fits ? xdr_getpos(&stream) : 0;
  xdr_destroy(&stream);
  if (!fits) return std::unexpected(std::errc::value_too_large);
  return body;
}

}  // namespace nfswalk::sunrpc_auth
