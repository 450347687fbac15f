#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bench/cold_walk/cold_subjects.h"
#include "bench/measure/machine_share.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"
#include "nfsclient/nfs3/encode.h"
#include "nfsclient/nfs4/compound.h"
#include "nfsclient/rpc/connection.h"
#include "sunrpc_auth/auth_body.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on

namespace nfswalk::bench {
namespace {

using protocol::Arguments3;
using protocol::Compound;
using Kind = RecordedCall::Kind;

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point started) {
  return std::chrono::duration<double>(Clock::now() - started).count();
}

constexpr uint16_t kNfsPort = 2049;
constexpr std::chrono::seconds kSilenceMax{10};
// As nfs3/readdir.cc and nfs4/nfs4.cc ask.
constexpr uint32_t kDirectoryBytes = 64 * 1024;
constexpr uint32_t kReplyBytes = 256 * 1024;

// Version 3: the same procedures with the same arguments.
void Encode3(const RecordedCall& call, std::optional<Arguments3>& encoded) {
  switch (call.kind) {
    case Kind::kGetAttributes:
      encoded.emplace(NFS3_GETATTR, zdr_GETATTR3args, GETATTR3args{protocol::ToWire(call.handle)});
      break;
    case Kind::kAccess:
      encoded.emplace(NFS3_ACCESS, zdr_ACCESS3args,
                      ACCESS3args{protocol::ToWire(call.handle), protocol::kAccessAll});
      break;
    case Kind::kLookup: {
      LOOKUP3args args{};
      args.what.dir = protocol::ToWire(call.handle);
      args.what.name = const_cast<char*>(call.names.front().c_str());
      encoded.emplace(NFS3_LOOKUP, zdr_LOOKUP3args, args);
      break;
    }
    case Kind::kReadDir: {
      READDIRPLUS3args args{};
      args.dir = protocol::ToWire(call.handle);
      args.cookie = call.position.cookie;
      std::memcpy(args.cookieverf, &call.position.verifier, sizeof args.cookieverf);
      args.dircount = kDirectoryBytes;
      args.maxcount = kReplyBytes;
      encoded.emplace(NFS3_READDIRPLUS, zdr_READDIRPLUS3args, args, kReplyBytes + 4096);
      break;
    }
    case Kind::kLookupPath:
      break;  // version 3 has none
  }
}

// Version 4: the same operations as nfs4.cc and path.cc put together.
void Encode4(const RecordedCall& call, Compound& compound) {
  compound.PutHandle(call.handle).GetAttributes();
  switch (call.kind) {
    case Kind::kGetAttributes:
      return;
    case Kind::kAccess:
      compound.Access(protocol::kAccessAll);
      return;
    case Kind::kLookup:
      compound.Lookup(call.names.front()).GetHandle().GetAttributes();
      return;
    case Kind::kReadDir:
      compound.ReadDir(call.position, kReplyBytes, /*plus=*/true);
      return;
    case Kind::kLookupPath:
      compound.Access(protocol::kAccessAll);
      for (const std::string& name : call.names) {
        compound.Lookup(name).GetHandle().GetAttributes().Access(protocol::kAccessAll);
      }
      return;
  }
}

// A call and all that it borrows.
struct PreparedCall {
  PreparedCall(int version, const RecordedCall& recorded) {
    if (version == 3) {
      Encode3(recorded, arguments);
      request = arguments->request();
    } else {
      Encode4(recorded, compound.emplace());
      request = compound->Encode();
    }
    call.emplace(request);
  }

  std::optional<Arguments3> arguments;
  std::optional<Compound> compound;
  rpc::Request request;
  std::optional<rpc::Call> call;
};

// One connection and the calls on it.
class Pipeline {
 public:
  // `window`: calls in flight, at most kRawWindow.
  Pipeline(int version, const Record& record, size_t window)
      : version_(version), record_(record), window_size_(window) {
    const auto body =
        sunrpc_auth::MarshalAuthBody(sunrpc_auth::Credential::OfProcess(), "raw-calls", 0);
    if (body) auth_ = *body;
  }

  Outcome Connect(const protocol::ServerAddress& server) {
    const uint16_t port = server.nfs_port == 0 ? kNfsPort : server.nfs_port;
    auto opened =
        rpc::Connection::Open({server.host, port, NFS_PROGRAM, static_cast<uint32_t>(version_)},
                              {.connect = kSilenceMax, .silence = kSilenceMax});
    if (!opened) return std::unexpected(fmt::format("cannot connect to {}:{}", server.host, port));
    connection_ = std::move(*opened);
    const rpc::Request null_call{.procedure = NFS3_NULL};
    rpc::Call call(null_call);
    call.deadline = rpc::Call::Clock::now() + kSilenceMax;
    if (connection_->Execute(call) == rpc::Outcome::kReplied) return {};
    return std::unexpected("the server does not answer");
  }
  Outcome Run() {
    Outcome outcome;
    while (outcome && answered_ < record_.size() && !Interrupted()) {
      const Clock::time_point started = Clock::now();
      Fill();
      outcome = TakeReply(window_[answered_ % kRawWindow]);
      if (window_size_ == 1) took_s_.push_back(SecondsSince(started));
    }
    if (connection_ != nullptr) connection_->Shutdown();
    for (; answered_ < sent_; ++answered_)
      connection_->Wait(*window_[answered_ % kRawWindow]->call);
    return outcome;
  }
  uint64_t answered() const { return answered_; }
  // Returns the seconds that each call took; empty if more than one is in flight at a time.
  std::vector<double> TakeTimes() { return std::move(took_s_); }

 private:
  void Fill() {
    for (; sent_ < std::min(answered_ + window_size_, record_.size()); ++sent_) {
      PreparedCall& next = window_[sent_ % kRawWindow].emplace(version_, record_[sent_]);
      next.call->auth = &auth_;
      next.call->deadline = rpc::Call::Clock::now() + kSilenceMax;
      connection_->Submit(*next.call);
    }
  }

  Outcome TakeReply(std::optional<PreparedCall>& prepared) {
    ++answered_;
    if (connection_->Wait(*prepared->call) != rpc::Outcome::kReplied) {
      return std::unexpected("a raw call was lost");
    }
    // Results of both versions begin with the status.
    if (const uint32_t refusal = prepared->call->results().U32(); refusal != 0) {
      return std::unexpected(fmt::format("a raw call was answered with NFS status {}", refusal));
    }
    return {};
  }

  const int version_;
  const Record& record_;
  const size_t window_size_;
  std::vector<double> took_s_;
  sunrpc_auth::AuthBody auth_{};
  std::unique_ptr<rpc::Connection> connection_;
  std::array<std::optional<PreparedCall>, kRawWindow> window_;
  size_t sent_ = 0;
  size_t answered_ = 0;
};

}  // namespace

ColdSubject MakeRawCalls(const ColdPlace& place, const ColdSetting& setting, Record record) {
  return [place, setting, record = std::move(record)]() -> std::expected<ColdTurn, std::string> {
    const bool one_by_one = setting.kind == WalkKind::kLarge;
    const auto pipeline =
        std::make_unique<Pipeline>(setting.version, record, one_by_one ? 1 : kRawWindow);
    const protocol::ServerAddress server = OptionsOf(place, setting).server;
    Outcome outcome;
    place.server.InItsNetwork([&] { outcome = pipeline->Connect(server); });
    if (!outcome) return std::unexpected(std::move(outcome.error()));
    const MachineShare machine(ServerPidOf(place, setting));
    const Clock::time_point started = Clock::now();
    outcome = pipeline->Run();
    const double took_s = SecondsSince(started);
    if (!outcome) return std::unexpected(std::move(outcome.error()));
    Turn turn{.ops = FilesOf(setting.kind, place.tree, 1), .seconds = took_s};
    machine.AddTo(turn);
    if (auto times = pipeline->TakeTimes(); !times.empty()) {
      AddLongest(turn, std::move(times));
      const auto round_trip_s = RoundTrip(place, setting);
      if (!round_trip_s) return std::unexpected(round_trip_s.error());
      turn.round_trip_s = *round_trip_s;
    }
    return ColdTurn{.turn = turn, .rpcs = pipeline->answered()};
  };
}

}  // namespace nfswalk::bench
