// LookupBatch(): calls of one thread, many of them in flight at once.
#include "nfsclient/nfs3/nfs3.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on

#include <algorithm>
#include <deque>
#include <new>
#include <optional>

#include "nfsclient/nfs3/decode.h"
#include "nfsclient/nfs3/encode.h"
#include "nfsclient/rpc/internal_errors.h"

namespace nfswalk::protocol {
namespace {

// Calls of one thread in flight; with replies of 240 bytes, a server answers them in two
// milliseconds.
constexpr size_t kCallsMax = 128;

// One call, which borrows from itself.
class Asked {
 public:
  Asked(const LookupQuestion& question, size_t index)
      : index_(index),
        arguments_(MakeArguments(question)),
        started_(arguments_.request()),
        kind_(question.names.empty() ? (question.rights ? Kind::kAccess : Kind::kAttributes)
                                     : Kind::kName) {}

  size_t index() const { return index_; }
  void Start(rpc::Caller& caller, const Credential& credential) {
    caller.Start(started_, credential);
  }
  // nullopt: another call must be sent for what is missing.
  std::optional<LookupPathReply> Finish(rpc::Caller& caller) {
    LookupPathReply reply;
    switch (kind_) {
      case Kind::kName: {
        const auto found = caller.Finish<LookupReply>(started_, kDecode);
        const bool lacks_attributes = found.error == kOk && !found.attributes;
        if (found.error == kJukebox || lacks_attributes) return std::nullopt;
        TakeLookup(found, reply);
        break;
      }
      case Kind::kAccess: {
        const auto access = caller.Finish<AccessReply>(started_, kDecode);
        if (access.error == kJukebox) return std::nullopt;
        reply.error = access.error;
        reply.directory = access.attributes;
        if (access.error == kOk) reply.granted = access.granted;
        break;
      }
      case Kind::kAttributes: {
        const auto attributes = caller.Finish<AttributesReply>(started_, kDecode);
        if (attributes.error == kJukebox) return std::nullopt;
        reply.error = attributes.error;
        if (attributes.error == kOk) reply.directory = attributes.attributes;
        break;
      }
    }
    return reply;
  }

 private:
  enum class Kind : uint8_t { kName, kAccess, kAttributes };

  static Arguments3 MakeArguments(const LookupQuestion& question) {
    const FileHandle& file = question.file;
    if (!question.names.empty()) {
      const WireName name(question.names.front());
      return Arguments3(NFS3_LOOKUP, zdr_LOOKUP3args, LOOKUP3args{ToWire(file, name)});
    }
    if (question.rights) {
      return Arguments3(NFS3_ACCESS, zdr_ACCESS3args, ACCESS3args{ToWire(file), kAccessAll});
    }
    return Arguments3(NFS3_GETATTR, zdr_GETATTR3args, GETATTR3args{ToWire(file)});
  }

  const size_t index_;
  const Arguments3 arguments_;
  rpc::Caller::Started started_;
  const Kind kind_;
};

std::errc Check(const LookupQuestion& question) {
  if (question.names.empty()) return CheckHandle(question.file);
  return CheckWhere(question.file, WireName(question.names.front()));
}

}  // namespace

void Nfs3::LookupBatch(std::span<const LookupQuestion> questions, const Credential& credential,
                          std::span<LookupPathReply> replies) {
  std::deque<Asked> in_flight;
  size_t next = 0;
  const auto start_more = [&]() {
    try {
      for (; next < questions.size() && in_flight.size() < kCallsMax; ++next) {
        replies[next].error = Check(questions[next]);
        if (replies[next].error != kOk) continue;
        in_flight.emplace_back(questions[next], next).Start(*caller_, credential);
      }
    } catch (const std::bad_alloc&) {
      if (in_flight.empty()) replies[next++].error = std::errc::not_enough_memory;
    }
  };
  while (next < questions.size() || !in_flight.empty()) {
    start_more();
    if (in_flight.empty()) continue;
    Asked& oldest = in_flight.front();
    LookupPathReply& reply = replies[oldest.index()];
    try {
      auto finished = oldest.Finish(*caller_);
      reply = finished ? *std::move(finished) : LookupAlone(questions[oldest.index()], credential);
    } catch (const std::bad_alloc&) {
      reply = Failure<LookupPathReply>(std::errc::not_enough_memory);
    }
    in_flight.pop_front();
  }
}

}  // namespace nfswalk::protocol
