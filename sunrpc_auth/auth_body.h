// auth_body: a credential as it travels in an RPC call (RFC 5531 8.2 and appendix A).
//
// Marshalled by libtirpc; no other file includes its headers, which clash with libnfs' own.
//
// Thread safety: all functions. Nothing is allocated.
#ifndef NFSWALK_SUNRPC_AUTH_AUTH_BODY_H_
#define NFSWALK_SUNRPC_AUTH_AUTH_BODY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>
#include <system_error>

#include "sunrpc_auth/credential.h"

namespace nfswalk::sunrpc_auth {

// An opaque_auth body is at most 400 bytes (RFC 5531 8.2); the largest AUTH_SYS body takes 340.
inline constexpr size_t kAuthBodyBytesMax = 400;
// AUTH_SYS carries no more supplementary groups and no longer machine name (RFC 5531 appendix A).
inline constexpr size_t kAuthSysGroupsMax = 16;
inline constexpr size_t kMachineNameBytesMax = 255;

struct AuthBody {
  Flavor flavor;
  uint32_t size;  // bytes in use; 0 for AUTH_NONE
  std::array<char, kAuthBodyBytesMax> bytes;
};

// Marshals `credential`: its first 16 groups, `machine_name` cut at 255 bytes, `stamp` as it is
// (any number of the caller's). Error: value_too_large if the body does not fit, which these bounds
// rule out.
[[nodiscard]] std::expected<AuthBody, std::errc> MarshalAuthBody(const Credential& credential,
                                                                 std::string_view machine_name,
                                                                 uint32_t stamp);

// AUTH_SYS with stamp 0, marshalled only if this thread's last call was for others. Valid until its
// next one.
[[nodiscard]] std::expected<const AuthBody*, std::errc> CachedAuthBody(
    const Credential& credential, std::string_view machine_name);

}  // namespace nfswalk::sunrpc_auth

#endif  // NFSWALK_SUNRPC_AUTH_AUTH_BODY_H_
