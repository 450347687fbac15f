// READDIR with attributes and handles, where they are wanted.
#include "nfsclient/nfs4/nfs4.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <cstdint>
#include <deque>
#include <new>
#include <optional>

#include "nfsclient/protocol/wire_limits.h"
#include "nfsclient/rpc/internal_errors.h"

namespace nfswalk::protocol {
namespace {

// Size of the first reply with attributes, for which lookups may be waiting (NAME-21).
constexpr uint32_t kFirstReadDirBytes = 32 * 1024;

void AddListing(Compound& compound, const FileHandle& directory, ReadDirPosition position,
                bool plus) {
  const uint32_t reply_bytes =
      plus && position.cookie == 0 ? kFirstReadDirBytes : Nfs4::kReadDirBytes;
  compound.PutHandle(directory).GetAttributes().ReadDir(position, reply_bytes, plus);
}

void TakeListing(CompoundReader& reader, const OwnerNames& owners, ReadDirPosition position,
                 ReadDirReply& listed) {
  if (reader.Next(OP_PUTFH)) listed.directory = TakeOptionalAttributes(reader, owners);
  TakeEntries(reader, owners, position, listed);
  listed.error = reader.error();
}

// The COMPOUND of ReadDir() in flight, which borrows from itself.
struct ListingInFlight {
  explicit ListingInFlight(rpc::Caller& its_caller) : caller(its_caller) {}
  ~ListingInFlight() {
    if (started) (void)Finish([](CompoundReader&, ReadDirReply&) {});
  }
  void Start(const ListQuestion& question, const Credential& credential) {
    AddListing(compound, question.directory, question.position, /*plus=*/true);
    request = compound.Encode();
    started.emplace(request);
    caller.Start(*started, credential);
  }
  template <typename Decode>
  ReadDirReply Finish(Decode decode) {
    ReadDirReply reply = caller.Finish<ReadDirReply>(*started, DecodeCompound(decode));
    started.reset();
    return reply;
  }

  rpc::Caller& caller;
  Compound compound;
  rpc::Request request;
  std::optional<rpc::Caller::Started> started;
};
// Listings of one thread in flight: a server needs a while for each.
constexpr size_t kListingsMax = 32;

}  // namespace

ReadDirReply Nfs4::ReadDir(const FileHandle& directory, ReadDirPosition position, bool plus,
                           const Credential& credential) {
  Compound compound;
  AddListing(compound, directory, position, plus);
  ReadDirReply reply =
      Call<ReadDirReply>(compound, credential, [&](CompoundReader& reader, ReadDirReply& listed) {
        TakeListing(reader, owner_names_, position, listed);
      });
  if (reply.error == std::errc::no_such_file_or_directory) reply.error = kStale;
  if (reply.error != kTooSmall) return reply;
  // TOOSMALL: an entry may fit without its attributes and handle.
  return plus ? ReadDir(directory, position, false, credential)
              : Failure<ReadDirReply>(std::errc::io_error);
}

void Nfs4::ReadDirBatch(std::span<const ListQuestion> questions, const Credential& credential,
                           std::span<ReadDirReply> replies) try {
  std::deque<ListingInFlight> in_flight;
  for (size_t next = 0, oldest = 0; oldest < questions.size(); ++oldest) {
    for (; next < questions.size() && in_flight.size() < kListingsMax; ++next) {
      in_flight.emplace_back(*caller_).Start(questions[next], credential);
    }
    const ReadDirPosition position = questions[oldest].position;
    ReadDirReply& reply = replies[oldest];
    reply = in_flight.front().Finish([&](CompoundReader& reader, ReadDirReply& listed) {
      TakeListing(reader, owner_names_, position, listed);
    });
    in_flight.pop_front();
    const bool is_late =
        reply.error == std::errc::timed_out || reply.error == std::errc::operation_canceled;
    // By itself, with all that such a call does.
    if (reply.error != kOk && !is_late) {
      reply = ReadDir(questions[oldest].directory, position, true, credential);
    }
  }
} catch (const std::bad_alloc&) {
  for (ReadDirReply& reply : replies) {
    if (reply.error == kOk && reply.entries.empty() && !reply.eof) {
      reply.error = std::errc::not_enough_memory;
    }
  }
}

}  // namespace nfswalk::protocol
