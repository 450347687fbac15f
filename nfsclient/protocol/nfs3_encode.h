// nfs3_encode: arguments of NFSv3 calls as libnfs' structures.
//
// Results borrow from the arguments, which must live until the call is encoded.
//
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

// A checked name with a terminating NUL, as libnfs takes it.
class WireName {
 public:
  // Sets error() as CheckName() does.
  explicit WireName(std::string_view name);

  std::errc error() const { return error_; }
  char* c_str() const { return bytes_.data(); }

 private:
  std::errc error_{};
  mutable std::array<char, kNameBytesMax + 1> bytes_;
};

// Returns kStale for a handle that is empty or longer than NFSv3 allows, else errc{}.
std::errc CheckHandle(const FileHandle& handle);

// Returns invalid_argument for a time that nfstime3 cannot hold (RFC 1813 2.6): before 1970, from
// 2106 on, or with a second or more of nanoseconds.
std::errc CheckTimes(const SetAttributes& attributes);

// Preconditions: CheckHandle(), CheckTimes() and WireName::error() returned errc{}.
nfs_fh3 ToWire(const FileHandle& handle);
diropargs3 ToWire(const FileHandle& directory, const WireName& name);
sattr3 ToWire(const SetAttributes& attributes);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS3_ENCODE_H_
