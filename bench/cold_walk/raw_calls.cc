// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "bench/cold_walk/cold_subjects.h"
#include "bench/measure/machine_share.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"
#include "nfsclient/protocol/nfs3_encode.h"
#include "nfsclient/protocol/nfs4_compound.h"

namespace nfswalk::bench {
namespace {

using protocol::Compound;
using Kind = RecordedCall::Kind;

constexpr uint16_t kNfsPort = 2049;
constexpr int kSilenceMax_ms = 10'000;
// As nfs3_readdir.cc and nfs4.cc ask.
constexpr uint32_t kDirectoryBytes = 64 * 1024;
constexpr uint32_t kReplyBytes = 256 * 1024;

// Version 3: the same procedures with the same arguments. Returns 0 if it was queued.
int Issue3(const RecordedCall& call, rpc_context* rpc, rpc_cb callback, void* data) {
  switch (call.kind) {
    case Kind::kGetAttributes: {
      GETATTR3args args{};
      args.object = protocol::ToWire(call.handle);
      return rpc_nfs3_getattr_async(rpc, callback, &args, data);
    }
    case Kind::kAccess: {
      ACCESS3args args{};
      args.object = protocol::ToWire(call.handle);
      args.access = protocol::kAccessAll;
      return rpc_nfs3_access_async(rpc, callback, &args, data);
    }
    case Kind::kLookup: {
      LOOKUP3args args{};
      args.what.dir = protocol::ToWire(call.handle);
      args.what.name = const_cast<char*>(call.names.front().c_str());
      return rpc_nfs3_lookup_async(rpc, callback, &args, data);
    }
    case Kind::kReadDir: {
      READDIRPLUS3args args{};
      args.dir = protocol::ToWire(call.handle);
      args.cookie = call.position.cookie;
      std::memcpy(args.cookieverf, &call.position.verifier, sizeof args.cookieverf);
      args.dircount = kDirectoryBytes;
      args.maxcount = kReplyBytes;
      return rpc_nfs3_readdirplus_async(rpc, callback, &args, data);
    }
    case Kind::kLookupPath:
      break;  // version 3 has none
  }
  return -1;
}

// Version 4: the same operations as nfs4.cc and nfs4_path.cc put together.
int Issue4(const RecordedCall& call, rpc_context* rpc, rpc_cb callback, void* data) {
  Compound compound;
  compound.PutHandle(call.handle);
  switch (call.kind) {
    case Kind::kGetAttributes:
      compound.GetAttributes();
      break;
    case Kind::kAccess:
      compound.Access(protocol::kAccessAll).GetAttributes();
      break;
    case Kind::kLookup:
      compound.GetAttributes().Lookup(call.names.front()).GetHandle().GetAttributes();
      break;
    case Kind::kReadDir:
      compound.GetAttributes().ReadDir(call.position, kReplyBytes, /*plus=*/true);
      break;
    case Kind::kLookupPath:
      compound.Access(protocol::kAccessAll).GetAttributes();
      for (const std::string& name : call.names) {
        compound.Lookup(name).GetHandle().GetAttributes().Access(protocol::kAccessAll);
      }
      break;
  }
  return compound.Issue(rpc, callback, data);
}

// One connection and the calls on it.
class Pipeline {
 public:
  Pipeline(int version, const Record& record)
      : version_(version), record_(record), context_(rpc_init_context(), rpc_destroy_context) {}

  Outcome Connect(const protocol::ServerAddress& server) {
    const int port = server.nfs_port == 0 ? kNfsPort : server.nfs_port;
    if (rpc_connect_port_async(context_.get(), server.host.c_str(), port, NFS_PROGRAM, version_,
                               OnConnect, this) != 0) {
      return std::unexpected(fmt::format("cannot connect to {}:{}", server.host, port));
    }
    while (!connected_ && outcome_) Serve();
    if (!outcome_) return outcome_;
    const int on = 1;
    setsockopt(rpc_get_fd(context_.get()), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return {};
  }
  Outcome Run() {
    while (outcome_ && answered_ < record_.size() && !Interrupted()) {
      Fill();
      Serve();
    }
    return outcome_;
  }
  uint64_t answered() const { return answered_; }

 private:
  static void OnConnect(rpc_context*, int status, void*, void* data) {
    auto& self = *static_cast<Pipeline*>(data);
    self.connected_ = status == RPC_STATUS_SUCCESS;
    if (!self.connected_) self.outcome_ = std::unexpected("the server does not answer");
  }

  static void OnReply(rpc_context*, int status, void* result, void* data) {
    Pipeline& self = *static_cast<Pipeline*>(data);
    ++self.answered_;
    if (status != RPC_STATUS_SUCCESS) {
      self.outcome_ = std::unexpected("a raw call was lost");
      // The status is the first member of every result of both versions.
    } else if (const int refusal = *static_cast<const nfsstat3*>(result); refusal != 0) {
      self.outcome_ =
          std::unexpected(fmt::format("a raw call was answered with NFS status {}", refusal));
    }
  }

  // Outside of rpc_service(): a call that is queued while libnfs purges others aborts the process.
  void Fill() {
    while (next_ < std::min(answered_ + kRawWindow, record_.size())) {
      const RecordedCall& call = record_[next_++];
      const int queued = version_ == 3 ? Issue3(call, context_.get(), OnReply, this)
                                       : Issue4(call, context_.get(), OnReply, this);
      if (queued != 0) {
        outcome_ = std::unexpected("a raw call could not be encoded");
        return;
      }
    }
  }

  void Serve() {
    pollfd socket{rpc_get_fd(context_.get()), static_cast<short>(rpc_which_events(context_.get())),
                  0};
    if (poll(&socket, 1, kSilenceMax_ms) == 0) {
      outcome_ = std::unexpected("the server is silent");
    } else if (rpc_service(context_.get(), socket.revents) < 0) {
      outcome_ = std::unexpected("the connection of the raw calls broke");
    }
  }

  const int version_;
  const Record& record_;
  size_t next_ = 0;
  uint64_t answered_ = 0;
  bool connected_ = false;
  Outcome outcome_;
  // Goes first: it calls OnReply() for what is in flight.
  const std::unique_ptr<rpc_context, decltype(&rpc_destroy_context)> context_;
};

}  // namespace

ColdSubject MakeRawCalls(const ColdPlace& place, const ColdSetting& setting, Record record) {
  return [place, setting, record = std::move(record)]() -> std::expected<ColdTurn, std::string> {
    using Clock = std::chrono::steady_clock;
    Pipeline pipeline(setting.version, record);
    const protocol::ServerAddress server = place.server.OptionsFor(place.directory).server;
    Outcome outcome;
    place.server.InItsNetwork([&] { outcome = pipeline.Connect(server); });
    if (!outcome) return std::unexpected(std::move(outcome.error()));
    const MachineShare machine(place.server.server_pid());
    const Clock::time_point started = Clock::now();
    outcome = pipeline.Run();
    const std::chrono::duration<double> took = Clock::now() - started;
    if (!outcome) return std::unexpected(std::move(outcome.error()));
    return ColdTurn{.turn = {.ops = FilesOf(setting.kind, place.tree, 1),
                             .seconds = took.count(),
                             .share = machine.Share()},
                    .rpcs = pipeline.answered()};
  };
}

}  // namespace nfswalk::bench
