// READDIRPLUS if requested and supported, else READDIR.
#include "nfsclient/protocol/nfs3.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-raw.h>
// clang-format on

#include <cstring>

#include "nfsclient/protocol/internal_errors.h"
#include "nfsclient/protocol/nfs3_decode.h"
#include "nfsclient/protocol/nfs3_encode.h"

namespace nfswalk::protocol {
namespace {

// dircount and maxcount. 10,000 entries take 6 to 8 calls; larger values are no faster (nfs-ganesha
// 4.3). Servers reduce what is too large for them.
constexpr uint32_t kDirectoryBytes = 64 * 1024;
constexpr uint32_t kReplyBytes = 256 * 1024;

template <typename Args>
void SetPosition(const FileHandle& directory, ReadDirPosition position, Args& args) {
  args.dir = ToWire(directory);
  args.cookie = position.cookie;
  static_assert(sizeof args.cookieverf == sizeof position.verifier);
  std::memcpy(args.cookieverf, &position.verifier, sizeof args.cookieverf);
}

}  // namespace

ReadDirReply Nfs3::ReadDir(const FileHandle& directory, ReadDirPosition position, bool plus,
                           const Credential& credential) {
  if (const std::errc error = CheckHandle(directory); error != kOk) {
    return Failure<ReadDirReply>(error);
  }
  if (plus && !no_readdirplus_.load()) {
    ReadDirReply reply = ReadDirPlus(directory, position, credential);
    if (reply.error == std::errc::operation_not_supported) no_readdirplus_.store(true);
    // TOOSMALL: an entry may fit without its attributes and handle.
    const bool fall_back =
        reply.error == std::errc::operation_not_supported || reply.error == kTooSmall;
    if (!fall_back) return reply;
  }
  ReadDirReply reply = ReadDirPlain(directory, position, credential);
  if (reply.error == kTooSmall) reply.error = std::errc::io_error;
  return reply;
}

ReadDirReply Nfs3::ReadDirPlus(const FileHandle& directory, ReadDirPosition position,
                               const Credential& credential) {
  READDIRPLUS3args args{};
  SetPosition(directory, position, args);
  args.dircount = kDirectoryBytes;
  args.maxcount = kReplyBytes;
  return caller_->Call<READDIRPLUS3res, ReadDirReply>(
      credential,
      [&](rpc_context* rpc, ReplyCallback callback, void* data) {
        return rpc_nfs3_readdirplus_async(rpc, callback, &args, data);
      },
      [&](const READDIRPLUS3res& wire, ReadDirReply& reply) {
        DecodeReply(wire, position, reply);
      });
}

ReadDirReply Nfs3::ReadDirPlain(const FileHandle& directory, ReadDirPosition position,
                                const Credential& credential) {
  READDIR3args args{};
  SetPosition(directory, position, args);
  args.count = kDirectoryBytes;
  return caller_->Call<READDIR3res, ReadDirReply>(
      credential,
      [&](rpc_context* rpc, ReplyCallback callback, void* data) {
        return rpc_nfs3_readdir_async(rpc, callback, &args, data);
      },
      [&](const READDIR3res& wire, ReadDirReply& reply) { DecodeReply(wire, position, reply); });
}

}  // namespace nfswalk::protocol
