// encode: arguments of NFSv3 calls as libnfs' structures, and as XDR.
//
// The structures borrow from what they are made of, until an Arguments3 is made of them.
//
// Thread safety: pure functions; Arguments3: none.
#ifndef NFSWALK_NFSCLIENT_NFS3_ENCODE_H_
#define NFSWALK_NFSCLIENT_NFS3_ENCODE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>

#include "nfsclient/nfs3/decode.h"
#include "nfsclient/protocol/file_handle.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/rpc/request.h"

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

// Returns the first error of a name in a directory.
std::errc CheckWhere(const FileHandle& directory, const WireName& name);

// Returns invalid_argument for a time that nfstime3 cannot hold (RFC 1813 2.6): before 1970, from
// 2106 on, or with a second or more of nanoseconds.
std::errc CheckTimes(const SetAttributes& attributes);

// Preconditions: CheckHandle(), CheckTimes() and WireName::error() returned errc{}.
nfs_fh3 ToWire(const FileHandle& handle);
diropargs3 ToWire(const FileHandle& directory, const WireName& name);
sattr3 ToWire(const SetAttributes& attributes);

// Room of results beside the data of a READ, or the entries of a listing, that was asked for.
inline constexpr uint32_t kResultsMarginBytes = 4 * 1024;

// The encoded arguments of one call.
class Arguments3 {
 public:
  // Room of results without data and entries. A link text takes up to kLinkBytesMax.
  static constexpr uint32_t kSmallResultsBytes = kLinkBytesMax + kResultsMarginBytes;
  // Enough for two handles with two names, or one of each with attributes.
  static constexpr size_t kBytesMax = rpc::XdrBuffer::kInlineBytes;

  // `encode`: libnfs' zdr_*() of Args. `bytes_max`: what `args` take at most.
  template <typename Args>
  Arguments3(uint32_t procedure, uint32_t (*encode)(ZDR*, Args*), Args args,
             uint32_t results_bytes_max = kSmallResultsBytes, size_t bytes_max = kBytesMax)
      : buffer_(bytes_max) {
    buffer_.Append(encode, args);
    request_ = {.procedure = procedure,
                .counts_as = procedure,
                .arguments = buffer_.bytes(),
                .results_bytes_max = results_bytes_max};
  }
  Arguments3(const Arguments3&) = delete;
  Arguments3& operator=(const Arguments3&) = delete;

  // Appends the data of WRITE3args that were encoded without, borrowed until the call has ended.
  void AppendData(std::span<const std::byte> data) {
    buffer_.SetLastWord(static_cast<uint32_t>(data.size()));
    request_.data = data;
  }

  // A call of another program at the same port, counted as `counts_as`.
  void SetProgram(rpc::Request::Program program, uint32_t counts_as) {
    request_.program = program;
    request_.counts_as = counts_as;
  }

  // READ's data goes to `into`, as rpc::Request::data_into, with `find_data`.
  void ReceiveInto(std::span<std::byte> into, decltype(rpc::Request::find_data) find_data) {
    request_.data_into = into;
    request_.find_data = find_data;
  }

  // Borrows from this object.
  const rpc::Request& request() const { return request_; }

 private:
  rpc::XdrBuffer buffer_;
  rpc::Request request_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS3_ENCODE_H_
