#include "bench/cold_walk/raw_calls.h"

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

#include <chrono>
#include <cstring>
#include <utility>

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

int StatusOf(Kind kind, int version, const void* result) {
  if (version == 4) return static_cast<const COMPOUND4res*>(result)->status;
  switch (kind) {
    case Kind::kGetAttributes:
      return static_cast<const GETATTR3res*>(result)->status;
    case Kind::kAccess:
      return static_cast<const ACCESS3res*>(result)->status;
    case Kind::kLookup:
      return static_cast<const LOOKUP3res*>(result)->status;
    default:
      return static_cast<const READDIRPLUS3res*>(result)->status;
  }
}

struct ContextCloser {
  void operator()(rpc_context* context) const { rpc_destroy_context(context); }
};

// One connection and the calls on it.
class Pipeline {
 public:
  Pipeline(int version, const Record& record, const std::atomic<bool>& stop)
      : version_(version), record_(record), stop_(stop), context_(rpc_init_context()) {
    slots_.resize(kRawWindow);
    for (Slot& slot : slots_) free_.push_back(&slot);
  }

  // Each returns an empty string or the error.
  std::string Connect(const protocol::ServerAddress& server) {
    const int port = server.nfs_port == 0 ? kNfsPort : server.nfs_port;
    if (rpc_connect_port_async(context_.get(), server.host.c_str(), port, NFS_PROGRAM, version_,
                               OnConnect, this) != 0) {
      return fmt::format("cannot connect to {}:{}", server.host, port);
    }
    while (!connected_ && error_.empty()) Serve();
    if (!error_.empty()) return error_;
    const int on = 1;
    setsockopt(rpc_get_fd(context_.get()), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return {};
  }
  std::string Run() {
    while (error_.empty() && answered_ < record_.size() && !stop_.load()) {
      Fill();
      Serve();
    }
    return error_;
  }
  uint64_t answered() const { return answered_; }

 private:
  struct Slot {
    Pipeline* pipeline = nullptr;
    Kind kind = Kind::kGetAttributes;
  };

  static void OnConnect(rpc_context*, int status, void*, void* data) {
    auto& self = *static_cast<Pipeline*>(data);
    self.connected_ = status == RPC_STATUS_SUCCESS;
    if (!self.connected_) self.error_ = "the server does not answer";
  }

  static void OnReply(rpc_context*, int status, void* result, void* data) {
    Slot& slot = *static_cast<Slot*>(data);
    Pipeline& self = *slot.pipeline;
    self.free_.push_back(&slot);
    ++self.answered_;
    if (status != RPC_STATUS_SUCCESS) {
      self.error_ = "a raw call was lost";
    } else if (const int refusal = StatusOf(slot.kind, self.version_, result); refusal != 0) {
      self.error_ = fmt::format("a raw call was answered with NFS status {}", refusal);
    }
  }

  // Outside of rpc_service(): a call that is queued while libnfs purges others aborts the process.
  void Fill() {
    while (!free_.empty() && next_ < record_.size()) {
      const RecordedCall& call = record_[next_++];
      Slot* slot = free_.back();
      free_.pop_back();
      *slot = {this, call.kind};
      const int queued = version_ == 3 ? Issue3(call, context_.get(), OnReply, slot)
                                       : Issue4(call, context_.get(), OnReply, slot);
      if (queued != 0) {
        error_ = "a raw call could not be encoded";
        return;
      }
    }
  }

  void Serve() {
    pollfd socket{rpc_get_fd(context_.get()), static_cast<short>(rpc_which_events(context_.get())),
                  0};
    if (poll(&socket, 1, kSilenceMax_ms) == 0) {
      error_ = "the server is silent";
    } else if (rpc_service(context_.get(), socket.revents) < 0) {
      error_ = "the connection of the raw calls broke";
    }
  }

  const int version_;
  const Record& record_;
  const std::atomic<bool>& stop_;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;
  size_t next_ = 0;
  uint64_t answered_ = 0;
  bool connected_ = false;
  std::string error_;
  // Goes first: it calls OnReply() for what is in flight.
  const std::unique_ptr<rpc_context, ContextCloser> context_;
};

class RawSubject final : public ColdSubject {
 public:
  RawSubject(const ColdPlace& place, const NfswalkSetting& setting, Record record, uint64_t files)
      : place_(place),
        key_{SubjectOf(setting, "raw calls"), setting.version, setting.mode, 1},
        record_(std::move(record)),
        files_(files) {}

  const ColdKey& key() const override { return key_; }
  std::expected<ColdTurn, std::string> Run(const std::atomic<bool>& stop) override {
    using Clock = std::chrono::steady_clock;
    Pipeline pipeline(key_.version, record_, stop);
    std::string error;
    const protocol::ServerAddress server = place_.server.OptionsFor(place_.directory).server;
    place_.server.InItsNetwork([&] { error = pipeline.Connect(server); });
    const Clock::time_point started = Clock::now();
    if (error.empty()) error = pipeline.Run();
    const std::chrono::duration<double> took = Clock::now() - started;
    if (!error.empty()) return std::unexpected(std::move(error));
    return ColdTurn{.files = files_, .rpcs = pipeline.answered(), .seconds = took.count()};
  }

 private:
  const ColdPlace place_;
  const ColdKey key_;
  const Record record_;
  const uint64_t files_;
};

}  // namespace

std::unique_ptr<ColdSubject> MakeRawSubject(const ColdPlace& place, const NfswalkSetting& setting,
                                            Record record, uint64_t files) {
  return std::make_unique<RawSubject>(place, setting, std::move(record), files);
}

}  // namespace nfswalk::bench
