// rpc: NULL calls over one connection: ours, libnfs' loop, and a socket without any client; to a
// file server and to one that does nothing.
//
// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "bench/measure/command_line.h"
#include "bench/measure/machine_share.h"
#include "bench/measure/owned_fd.h"
#include "bench/measure/row.h"
#include "bench/measure/rpc_server.h"
#include "bench/measure/server_export.h"
#include "bench/measure/team.h"
#include "bench/measure/terminal.h"
#include "bench/measure/turns.h"
#include "fmt/format.h"
#include "nfsclient/rpc/caller.h"
#include "nfsclient/rpc/connection.h"

namespace nfswalk::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint16_t kNfsPort = 2049;
constexpr std::chrono::seconds kSilenceMax{10};
constexpr int kSilenceMax_ms = 10'000;

struct RpcOptions : RunOptions {
  RpcOptions() : RunOptions{.threads = {}, .repetitions = 7} {}

  uint64_t calls = 20'000;
};

struct Server {
  std::string name;
  std::string host;
  uint16_t port;
  pid_t pid;  // 0: not on this machine
};

// Sends `calls` NULL calls, `in_flight` at a time.
using CallMany = std::function<Outcome(uint64_t calls, size_t in_flight)>;

const std::string kLost = "a call was lost";

// One send(2) and one recv(2) a call.
Outcome CallBare(int fd, uint64_t calls) {
  const std::array<uint32_t, 11> call = {htonl(0x80000000 | 40), htonl(1),     0, htonl(2),
                                         htonl(NFS_PROGRAM),     htonl(NFS_V3)};
  std::array<char, 256> reply;
  for (uint64_t i = 0; i < calls; ++i) {
    if (send(fd, call.data(), sizeof call, MSG_NOSIGNAL) != sizeof call ||
        recv(fd, reply.data(), reply.size(), 0) <= 0) {
      return std::unexpected(kLost);
    }
  }
  return {};
}

std::expected<CallMany, std::string> MakeBare(const Server& server) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port);
  inet_pton(AF_INET, server.host.c_str(), &address.sin_addr);
  auto fd = std::make_shared<OwnedFd>(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(fd->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(fd->get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return std::unexpected("the server does not answer");
  }
  return [fd](uint64_t calls, size_t) { return CallBare(fd->get(), calls); };
}

Outcome CallOurs(rpc::Connection& connection, uint64_t calls, size_t in_flight) {
  const rpc::Request request{.procedure = NFS3_NULL};
  std::deque<rpc::Call> window;
  Outcome outcome;
  for (uint64_t sent = 0; outcome && (sent < calls || !window.empty());) {
    while (sent < calls && window.size() < in_flight) {
      window.emplace_back(request).deadline = Clock::now() + kSilenceMax;
      connection.Submit(window.back());
      ++sent;
    }
    if (connection.Wait(window.front()) != rpc::Outcome::kReplied) outcome = std::unexpected(kLost);
    window.pop_front();
  }
  if (!outcome) connection.Shutdown();
  for (rpc::Call& call : window) (void)connection.Wait(call);
  return outcome;
}

std::expected<CallMany, std::string> MakeOurs(const Server& server) {
  auto opened = rpc::Connection::Open({server.host, server.port, NFS_PROGRAM, NFS_V3},
                                      {.connect = kSilenceMax, .silence = kSilenceMax});
  if (!opened) return std::unexpected("no socket");
  const std::shared_ptr<rpc::Connection> connection = std::move(*opened);
  // Connects within the server's network.
  if (const Outcome first = CallOurs(*connection, 1, 1); !first) {
    return std::unexpected(first.error());
  }
  return [connection](uint64_t calls, size_t in_flight) {
    return CallOurs(*connection, calls, in_flight);
  };
}

// Threads that each wait for one call.
std::expected<CallMany, std::string> MakeOurThreads(const Server& server) {
  auto made = MakeOurs(server);
  if (!made) return made;
  return [call = std::move(*made)](uint64_t calls, size_t in_flight) -> Outcome {
    const auto time = RunTeam(in_flight, Placement::kAnywhere,
                              [&](size_t thread) { return call((calls + thread) / in_flight, 1); });
    if (!time) return std::unexpected(time.error());
    return {};
  };
}

// As the versions call: with AUTH_SYS, deadlines and retries.
std::expected<CallMany, std::string> MakeCaller(const Server& server) {
  protocol::TransportOptions options;
  auto opened = rpc::Caller::Open({server.host, server.port, NFS_PROGRAM, NFS_V3}, options);
  if (!opened) return std::unexpected("no socket");
  const std::shared_ptr<rpc::Caller> caller = std::move(*opened);
  if (!caller->Ping("NFS", server.host, Clock::now() + kSilenceMax)) {
    return std::unexpected("the server does not answer");
  }
  return [caller, me = sunrpc_auth::Credential::OfProcess()](uint64_t calls, size_t) -> Outcome {
    struct Reply {
      std::errc error{};
    };
    for (uint64_t i = 0; i < calls; ++i) {
      const auto reply =
          caller->Call<Reply>(me, {.procedure = NFS3_NULL}, [](rpc::XdrReader&, Reply&) {});
      if (reply.error != std::errc{}) return std::unexpected(kLost);
    }
    return {};
  };
}

// libnfs' loop, by the thread that calls.
class LibnfsLoop {
 public:
  LibnfsLoop() : context_(rpc_init_context(), rpc_destroy_context) {}

  bool Connect(const Server& server) {
    pending_ = 1;
    if (rpc_connect_port_async(context_.get(), server.host.c_str(), server.port, NFS_PROGRAM,
                               NFS_V3, OnReply, this) != 0) {
      return false;
    }
    while (pending_ > 0 && Serve()) {
    }
    const int on = 1;
    setsockopt(rpc_get_fd(context_.get()), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return !failed_;
  }
  Outcome Call(uint64_t calls, size_t in_flight) {
    for (uint64_t sent = 0; sent < calls || pending_ > 0;) {
      for (; sent < calls && pending_ < in_flight; ++sent, ++pending_) {
        if (rpc_nfs3_null_async(context_.get(), OnReply, this) != 0) failed_ = true;
      }
      if (!Serve()) return std::unexpected(kLost);
    }
    return {};
  }

 private:
  static void OnReply(rpc_context*, int status, void*, void* data) {
    auto& self = *static_cast<LibnfsLoop*>(data);
    --self.pending_;
    self.failed_ |= status != RPC_STATUS_SUCCESS;
  }
  bool Serve() {
    pollfd socket{rpc_get_fd(context_.get()), static_cast<short>(rpc_which_events(context_.get())),
                  0};
    return poll(&socket, 1, kSilenceMax_ms) == 1 &&
           rpc_service(context_.get(), socket.revents) == 0 && !failed_;
  }

  size_t pending_ = 0;
  bool failed_ = false;
  // Goes first: it calls OnReply() for what is in flight.
  const std::unique_ptr<rpc_context, decltype(&rpc_destroy_context)> context_;
};

std::expected<CallMany, std::string> MakeLibnfs(const Server& server) {
  const auto loop = std::make_shared<LibnfsLoop>();
  if (!loop->Connect(server)) return std::unexpected("the server does not answer");
  return [loop](uint64_t calls, size_t in_flight) { return loop->Call(calls, in_flight); };
}

struct Contender {
  std::string subject;
  size_t in_flight;
  std::expected<CallMany, std::string> (*make)(const Server&);
};
const Contender kContenders[] = {{"bare socket", 1, MakeBare},
                                 {"connection", 1, MakeOurs},
                                 {"caller", 1, MakeCaller},
                                 {"libnfs loop", 1, MakeLibnfs},
                                 {"connection, threads", 4, MakeOurThreads},
                                 {"connection", 256, MakeOurs},
                                 {"libnfs loop", 256, MakeLibnfs}};

struct Pair {
  const Contender* contender;
  const Server* server;
  CallMany call = {};
};

std::expected<std::vector<Pair>, std::string> Connect(ServerExport& place,
                                                      const Server& file_server,
                                                      const Server& null_server) {
  std::vector<Pair> pairs;
  for (const Server* server : {&file_server, &null_server}) {
    for (const Contender& contender : kContenders) {
      std::expected<CallMany, std::string> made;
      const auto make = [&] { made = contender.make(*server); };
      server == &file_server ? place.InItsNetwork(make) : make();
      if (!made) return std::unexpected(contender.subject + ": " + made.error());
      pairs.push_back({&contender, server, std::move(*made)});
    }
  }
  return pairs;
}

// A row has: server ("nfs", "null"), subject, in_flight, and what AddTiming() and
// AddProcessorTime() say, where an operation is a call.
Outcome RunRpc(const RpcOptions& options) {
  auto null_process = RpcServer::Start(AnswerNull);
  if (!null_process) return std::unexpected(std::move(null_process.error()));
  auto place = ServerExport::Open(options.server);
  if (!place) return std::unexpected(std::move(place.error()));
  const protocol::ServerAddress address = (*place)->OptionsFor("").server;
  const Server file_server{"nfs", address.host, address.nfs_port == 0 ? kNfsPort : address.nfs_port,
                           (*place)->server_pid()};
  const Server null_server{"null", "127.0.0.1", null_process->port(), null_process->pid()};
  const auto pairs = Connect(**place, file_server, null_server);
  if (!pairs) return std::unexpected(pairs.error());
  auto rows = RowWriter::Open("rpc", options.json_file,
                              Row()
                                  .Set("server", (*place)->description())
                                  .Set("calls", options.calls)
                                  .Set("repetitions", options.repetitions));
  if (!rows) return std::unexpected(std::move(rows.error()));
  Turns turns(options.repetitions);
  for (size_t i = 0; i < pairs->size(); ++i) turns.AddRow();
  const Outcome taken = turns.Run([&](size_t i) -> std::expected<Turn, std::string> {
    const auto& [contender, server, call] = (*pairs)[i];
    const MachineShare machine(server->pid);
    const Clock::time_point started = Clock::now();
    const Outcome called = call(options.calls, contender->in_flight);
    const std::chrono::duration<double> took = Clock::now() - started;
    if (!called) return std::unexpected(contender->subject + ": " + called.error());
    Turn turn{.ops = options.calls, .seconds = took.count()};
    machine.AddTo(turn);
    return turn;
  });
  if (!taken) return taken;
  for (size_t i = 0; i < pairs->size(); ++i) {
    if (!turns.Complete(i)) continue;
    Row row;
    row.Set("server", (*pairs)[i].server->name)
        .Set("subject", (*pairs)[i].contender->subject)
        .Set("in_flight", (*pairs)[i].contender->in_flight);
    AddTiming(row, turns, i, 1);
    AddProcessorTime(row, turns, i);
    rows->Write(row);
  }
  return rows->Close(Row().Set("interrupted", Interrupted()));
}

int Main(int argc, char** argv) {
  RpcOptions options;
  CLI::App app(
      "NULL calls over one connection to a server of version 3: our own, libnfs' loop, and a "
      "socket "
      "without a client. All take turns.",
      "rpc");
  app.add_flag_callback(
      "--quick", [&] { options.calls = 2'000, options.repetitions = 3; },
      "Fewer calls and repetitions, where nothing else is said");
  app.add_option("--calls", options.calls, "Calls of a turn")
      ->check(CLI::Range(uint64_t{1}, uint64_t{10'000'000}))
      ->capture_default_str();
  AddRepetitions(app, options.repetitions);
  app.add_option("--server", options.server, "Call this nfs:// URL [an nfs-ganesha of our own]");
  AddJsonFile(app, options.json_file);
  return RunBenchmark(app, argc, argv, [&] { return RunRpc(options); });
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) { return nfswalk::bench::Main(argc, argv); }
