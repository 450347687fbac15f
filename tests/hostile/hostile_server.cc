#include "tests/hostile/hostile_server.h"

#include <algorithm>
#include <limits>

#include "tests/fixtures/libnfs_raw.h"
#include "tests/fixtures/loopback.h"

namespace nfswalk::hostile {
namespace {

using protocol::FakeFault;
using protocol::FakeNode;

constexpr int kForEver = std::numeric_limits<int>::max();
constexpr uint32_t kOwner = 4711;

void Plant(protocol::FakeTreeServer& server) {
  const auto file = [](size_t bytes) {
    return FakeNode{.uid = kOwner, .data = std::string(bytes, '.')};
  };
  const FakeNode directory{.type = FakeNode::Type::kDirectory, .mode = 0755, .uid = kOwner};
  server.Put("file", file(150'000));
  server.Put("dir", directory);
  server.Put("dir/inner", file(5));
  server.Put("dir/sub", directory);
  server.Put("dir/sub/deep", file(1));
  server.Put("link", {.type = FakeNode::Type::kSymlink, .mode = 0777, .data = "dir/inner"});
}

std::string Text(uint32_t address) {
  char text[INET_ADDRSTRLEN];
  const in_addr wire{htonl(address)};
  inet_ntop(AF_INET, &wire, text, sizeof text);
  return text;
}

Service ServiceOf(uint32_t program) {
  switch (program) {
    case MOUNT_PROGRAM:
      return Service::kMount;
    case PMAP_PROGRAM:
      return Service::kPortmapper;
    default:
      return Service::kNfs;
  }
}

}  // namespace

HostileServer::HostileServer(const Attack& attack, uint32_t address, uint16_t portmapper_port)
    : attack_(attack),
      address_(Text(address)),
      tamper_(attack.tamper),
      server_([this](const FakeCall& call) { return Answer(call); }, address) {
  for (protocol::FakeTreeServer* server : {static_cast<protocol::FakeTreeServer*>(&nfs3_),
                                           static_cast<protocol::FakeTreeServer*>(&nfs4_)}) {
    Plant(*server);
    if (attack.has_loop) server->Link("", "loop");
    if (attack.plant != nullptr) attack.plant(*server);
  }
  const auto kind = attack.status != 0 ? FakeFault::Kind::kStatus : FakeFault::Kind::kForged;
  if (tamper_ == nullptr && !attack.operations.empty()) {
    // The fake server copies a fault for each call.
    const auto forge = [own = std::make_shared<Forge>(attack.forge)](const std::string& good) {
      return (*own)(good);
    };
    nfs4_.Inject(*attack.operations.begin(), {kind, attack.status, forge}, kForEver, attack.after);
  }
  if (attack.service == Service::kPortmapper) {
    portmapper_ = std::make_unique<protocol::FakeServer>(
        [this](const FakeCall& call) { return Answer(call); }, address, portmapper_port);
  }
}

std::string HostileServer::Url() const {
  std::string url = "nfs://" + address_;
  const std::string port = std::to_string(server_.port());
  if (portmapper_ == nullptr) url += ":" + port;
  url += attack_.version == 3 ? "/export?"
                              : "/?version=4." + std::to_string(attack_.minor_version) + "&";
  if (portmapper_ == nullptr && attack_.version == 3) url += "mountport=" + port + "&";
  url += attack_.timeout == MountTimeout::kSilence ? "soft&timeo=1&retrans=1"
                                                   : "soft&timeo=30&retrans=1";
  return attack_.options.empty() ? url : url + "&" + attack_.options;
}

int HostileServer::attacked() {
  if (tamper_ == nullptr && !attack_.operations.empty()) {
    return std::max(Executions() - attack_.after, 0);
  }
  return std::max(met_ - attack_.after, 0);
}

std::set<std::pair<Service, int>> HostileServer::called() {
  const std::lock_guard lock(mutex_);
  std::set<std::pair<Service, int>> called = procedures_;
  constexpr int kLastOperation = 75;  // RFC 8276
  for (int operation = OP_ACCESS; attack_.version == 4 && operation <= kLastOperation;
       ++operation) {
    if (nfs4_.calls(operation) > 0) called.emplace(Service::kNfs, operation);
  }
  return called;
}

FakeAnswer HostileServer::Answer(const FakeCall& call) {
  ++replies_;
  const int before = Executions();
  const FakeAnswer good = GoodAnswer(call);
  if (tamper_ == nullptr || good.kind != FakeAnswer::Kind::kReply) return good;
  const bool is_compound = attack_.version == 4 && attack_.service == Service::kNfs;
  const bool meets = ServiceOf(call.program) == attack_.service &&
                     (is_compound ? Executions() > before
                                  : attack_.operations.contains(static_cast<int>(call.procedure)));
  if (!meets || met_++ < attack_.after) return good;
  return tamper_({call, good, static_cast<size_t>(met_ - 1 - attack_.after)});
}

FakeAnswer HostileServer::GoodAnswer(const FakeCall& call) {
  if (call.procedure == 0) return {};
  const Service service = ServiceOf(call.program);
  if (service != Service::kNfs || attack_.version == 3) {
    const std::lock_guard lock(mutex_);
    procedures_.emplace(service, static_cast<int>(call.procedure));
  }
  if (service == Service::kPortmapper) return Reply(Xdr().U32(server_.port()));
  if (service == Service::kMount) return nfs3_.Answer(call);
  if (call.version != static_cast<uint32_t>(attack_.version)) {
    return {FakeAnswer::Kind::kRefuse, {}, PROG_MISMATCH};
  }
  return call.version == 4 ? nfs4_.Answer(call) : nfs3_.Answer(call);
}

int HostileServer::Executions() {
  if (attack_.version != 4) return 0;
  int executions = 0;
  for (const int operation : attack_.operations) executions += nfs4_.calls(operation);
  return executions;
}

}  // namespace nfswalk::hostile
