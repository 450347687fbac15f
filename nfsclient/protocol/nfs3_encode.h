// nfs3_encode: arguments as libnfs wants them.
//
// What these return borrows from what they were given: both must live until the call is encoded.
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS3_ENCODE_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS3_ENCODE_H_

#include <array>
#include <string_view>
#include <system_error>

#include "nfsclient/protocol/file_handle.h"
#include "nfsclient/protocol/nfs3_decode.h"
#include "nfsclient/protocol/protocol.h"

struct diropargs3;
struct nfs_fh3;
struct sattr3;

namespace nfswalk::protocol {

// A name that is fit for the wire, with the NUL that libnfs wants at its end.
class WireName {
 public:
  // error(): filename_too_long above 255 bytes, invalid_argument if empty or with '/' or NUL
  // inside.
  explicit WireName(std::string_view name);

  std::errc error() const { return error_; }
  char* c_str() const { return bytes_.data(); }

 private:
  std::errc error_{};
  mutable std::array<char, kNameBytesMax + 1> bytes_;
};

// errc{}, or kStale for a handle that no NFSv3 server can have given.
std::errc CheckHandle(const FileHandle& handle);

// Preconditions: CheckHandle() and WireName::error() said errc{}.
nfs_fh3 ToWire(const FileHandle& handle);
diropargs3 ToWire(const FileHandle& directory, const WireName& name);
sattr3 ToWire(const SetAttributes& attributes);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS3_ENCODE_H_
