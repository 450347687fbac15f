// READDIRPLUS if requested and supported, else READDIR.
#include "nfsclient/nfs3/nfs3.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on

#include <cstring>
#include <deque>
#include <new>

#include "nfsclient/nfs3/decode.h"
#include "nfsclient/nfs3/encode.h"
#include "nfsclient/rpc/internal_errors.h"

namespace nfswalk::protocol {
namespace {

// dircount and maxcount. 10,000 entries take 6 to 8 calls; larger values are no faster (nfs-ganesha
// 4.3). Servers reduce what is too large for them.
constexpr uint32_t kDirectoryBytes = 64 * 1024;
constexpr uint32_t kReplyBytes = 256 * 1024;

// The first reply with attributes, which lookups may be waiting for (NAME-21), is short: about 150
// entries (nfs_readdir_xdr_to_array() begins with NFS_INIT_DTSIZE).
constexpr uint32_t kFirstReplyBytes = 32 * 1024;

template <typename Args>
void SetPosition(const FileHandle& directory, ReadDirPosition position, Args& args) {
  args.dir = ToWire(directory);
  args.cookie = position.cookie;
  static_assert(sizeof args.cookieverf == sizeof position.verifier);
  std::memcpy(args.cookieverf, &position.verifier, sizeof args.cookieverf);
}

Arguments3 PlusArguments(const FileHandle& directory, ReadDirPosition position) {
  READDIRPLUS3args args{};
  SetPosition(directory, position, args);
  args.dircount = kDirectoryBytes;
  args.maxcount = position.cookie == 0 ? kFirstReplyBytes : kReplyBytes;
  return Arguments3(NFS3_READDIRPLUS, zdr_READDIRPLUS3args, args,
                    args.maxcount + kResultsMarginBytes);
}

// A READDIRPLUS in flight, which borrows from itself.
struct ListingInFlight {
  ListingInFlight(const ListQuestion& question, size_t place)
      : index(place),
        arguments(PlusArguments(question.directory, question.position)),
        started(arguments.request()) {}

  const size_t index;
  const Arguments3 arguments;
  rpc::Caller::Started started;
};
// Listings of one thread in flight: a server needs a while for each.
constexpr size_t kListingsMax = 32;

}  // namespace

void Nfs3::ReadDirBatch(std::span<const ListQuestion> questions, const Credential& credential,
                           std::span<ReadDirReply> replies) {
  std::deque<ListingInFlight> in_flight;
  size_t next = 0;
  const auto start_more = [&]() {
    try {
      for (; next < questions.size() && in_flight.size() < kListingsMax; ++next) {
        replies[next].error = CheckHandle(questions[next].directory);
        if (replies[next].error != kOk) continue;
        caller_->Start(in_flight.emplace_back(questions[next], next).started, credential);
      }
    } catch (const std::bad_alloc&) {
      if (in_flight.empty()) replies[next++].error = std::errc::not_enough_memory;
    }
  };
  while (next < questions.size() || !in_flight.empty()) {
    start_more();
    if (in_flight.empty()) continue;
    const size_t index = in_flight.front().index;
    const auto& [directory, position] = questions[index];
    ReadDirReply& reply = replies[index];
    reply = caller_->Finish<ReadDirReply>(in_flight.front().started,
                                          [&](rpc::XdrReader& in, ReadDirReply& read) {
                                            DecodeReply(in, /*plus=*/true, position, read);
                                          });
    in_flight.pop_front();
    // By itself, with all that such a call does.
    if (reply.error == kJukebox || reply.error == kTooSmall ||
        reply.error == std::errc::operation_not_supported) {
      reply = ReadDir(directory, position, true, credential);
    }
  }
}

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
  const Arguments3 arguments = PlusArguments(directory, position);
  return caller_->Call<ReadDirReply>(credential, arguments.request(),
                                     [&](rpc::XdrReader& in, ReadDirReply& reply) {
                                       DecodeReply(in, /*plus=*/true, position, reply);
                                     });
}

ReadDirReply Nfs3::ReadDirPlain(const FileHandle& directory, ReadDirPosition position,
                                const Credential& credential) {
  READDIR3args args{};
  SetPosition(directory, position, args);
  args.count = kDirectoryBytes;
  const Arguments3 arguments(NFS3_READDIR, zdr_READDIR3args, args,
                             kDirectoryBytes + kResultsMarginBytes);
  return caller_->Call<ReadDirReply>(credential, arguments.request(),
                                     [&](rpc::XdrReader& in, ReadDirReply& reply) {
                                       DecodeReply(in, /*plus=*/false, position, reply);
                                     });
}

}  // namespace nfswalk::protocol
