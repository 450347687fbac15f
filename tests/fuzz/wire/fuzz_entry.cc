#include "tests/fuzz/wire/fuzz_entry.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/nfs3/nfs3.h"
#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/nfs4.h"
#include "tests/fuzz/wire/checked_protocol.h"
#include "tests/fuzz/wire/reply_sample.h"

namespace nfswalk::fuzz {
namespace {

using Clock = protocol::CallDeadline::Clock;
using protocol::FileHandle;
using protocol::kOk;
using protocol::Protocol;

constexpr uint8_t kIsDecoder = 2;
constexpr uint8_t kAsksPortmapper = 4;
constexpr size_t kPieces[] = {SIZE_MAX, 1, 2, 3, 4, 5, 7, 8, 13, 27, 28, 29, 64, 100, 1000, 4096};
constexpr size_t kCallsMax = 20;
constexpr std::chrono::milliseconds kMountTimeout{2000};

constexpr std::string_view kNames[] = {"file", "dir", "link", "inner", "new", "..", "sub", "gone"};

// A client and what it has got hold of.
struct Client {
  Protocol& nfs;
  const FileHandle root;
  const sunrpc_auth::Credential who{1000, 100};
  FileHandle at = root;  // the last found
  std::unique_ptr<protocol::OpenState> state = nullptr;
  protocol::ReadDirPosition position = {};
  uint8_t choice = 0;  // the upper three bits of the call's byte

  std::string_view name() const { return kNames[choice]; }
  const FileHandle& directory() const { return choice % 2 == 0 ? root : at; }
};

template <typename Reply>
bool Found(Client& client, const Reply& reply) {
  if (reply.error == kOk) client.at = reply.handle;
  return reply.error == kOk;
}
bool Created(Client& client, const protocol::CreateReply& reply) {
  if (reply.error == kOk && reply.handle) client.at = *reply.handle;
  return reply.error == kOk;
}

bool LookUpPath(Client& c) {
  const size_t names = 1 + c.choice;
  if (!c.nfs.can_lookup_paths()) return false;
  const auto reply = c.nfs.LookupPath(c.directory(), std::span(kNames).first(names), c.who);
  if (!reply.steps.empty()) c.at = reply.steps.back().handle;
  return reply.error == kOk;
}

bool Open(Client& c) {
  auto reply = c.nfs.Open(c.root, c.name(), c.at, true, c.choice % 2 == 0, c.who);
  c.state = std::move(reply.state);
  return reply.error == kOk;
}

bool Read(Client& c) {
  std::array<std::byte, 200> into;
  const uint64_t offset_bytes = c.choice * 50;
  const size_t piece_bytes = c.choice % 2 == 0 ? into.size() : 30;
  return c.nfs.ReadPieces(c.at, offset_bytes, into, piece_bytes, c.state.get(), c.who).error == kOk;
}

bool Write(Client& c) {
  std::array<std::byte, 50> data{};
  const std::span<const std::byte> first = std::span(data).first(30),
                                   rest = std::span(data).last(20);
  const auto a =
      c.nfs.StartWrite(c.at, c.choice, first, protocol::Stability::kUnstable, c.state.get(), c.who);
  const auto b = c.nfs.StartWrite(c.at, c.choice + first.size(), rest,
                                  protocol::Stability::kUnstable, c.state.get(), c.who);
  const auto is_written = [](const protocol::WriteInFlight& write) {
    const auto reply = write->Finish();
    return reply && reply->error == kOk;
  };
  const bool written = is_written(b);
  return is_written(a) && written && c.nfs.Commit(c.at, c.who).error == kOk;
}

bool List(Client& c, bool plus) {
  const auto reply = c.nfs.ReadDir(c.directory(), c.position, plus, c.who);
  c.position = {};
  if (!reply.entries.empty()) {
    if (reply.entries.back().handle) c.at = *reply.entries.back().handle;
    if (!reply.eof) c.position = {reply.entries.back().cookie, reply.verifier};
  }
  return reply.error == kOk;
}

bool SetAttributes(Client& c) {
  protocol::SetAttributes to;
  if (c.choice % 2 == 0) to.mode = 0600;
  if (c.choice % 4 < 2) to.size_bytes = 10;
  if (c.choice > 3) to.uid = 1001;
  return c.nfs.SetAttributesOf(c.at, to, c.who).error == kOk;
}

// Each returns whether it succeeded.
using Call = bool (*)(Client&);
constexpr Call kCalls[] = {
    [](Client& c) { return c.nfs.GetRoot(c.who).error == kOk; },
    [](Client& c) { return c.nfs.GetAttributes(c.at, c.who).error == kOk; },
    [](Client& c) { return Found(c, c.nfs.Lookup(c.root, c.name(), c.who)); },
    [](Client& c) { return Found(c, c.nfs.Lookup(c.at, c.name(), c.who)); },
    LookUpPath,
    [](Client& c) { return c.nfs.Access(c.directory(), c.who).error == kOk; },
    [](Client& c) { return c.nfs.ReadLink(c.at, c.who).error == kOk; },
    Open,
    Read,
    Write,
    [](Client& c) { return List(c, false); },
    [](Client& c) { return List(c, true); },
    [](Client& c) {
      const auto how =
          c.choice % 2 == 0 ? protocol::CreateMode::kGuarded : protocol::CreateMode::kUnchecked;
      return Created(c, c.nfs.Create(c.root, c.name(), how, {.mode = 0640}, c.who));
    },
    [](Client& c) {
      return Created(c, c.nfs.MakeDirectory(c.directory(), c.name(), {.mode = 0750}, c.who));
    },
    [](Client& c) {
      return Created(c, c.nfs.MakeSymlink(c.directory(), c.name(), "../text", {}, c.who));
    },
    [](Client& c) { return c.nfs.Link(c.at, c.root, c.name(), c.who).error == kOk; },
    [](Client& c) { return c.nfs.Rename(c.root, c.name(), c.at, "new", {}, c.who).error == kOk; },
    [](Client& c) { return c.nfs.Remove(c.directory(), c.name(), {}, c.who).error == kOk; },
    [](Client& c) { return c.nfs.RemoveDirectory(c.root, c.name(), {}, c.who).error == kOk; },
    SetAttributes,
    [](Client& c) {
      c.state.reset();
      return true;
    },
};

std::unique_ptr<Protocol> Mount(uint8_t kind) {
  // Soft: no call takes longer than 0.3 s.
  const protocol::TransportOptions options{
      .hard = false, .timeo_ds = 1, .retrans = 1, .mount_timeout_ms = kMountTimeout.count()};
  const bool asks = (kind & kAsksPortmapper) != 0;
  const uint16_t port = asks ? 0 : 2049;
  const bool is_4 = kind % 2 != 0;
  const protocol::ServerAddress server{"192.0.2.1", "/export", port, port, is_4 ? 4 : 3};
  auto mounted = is_4 ? protocol::Nfs4::ConnectNfs4(server, options)
                      : protocol::Nfs3::ConnectNfs3(server, options);
  if (!mounted) return nullptr;
  return std::make_unique<CheckedProtocol>(
      std::move(*mounted), is_4 ? protocol::kNfs4HandleBytesMax : protocol::kNfs3HandleBytesMax);
}

size_t RunDecoder(std::string_view input) {
  static const std::vector<protocol::ReplySample> samples[] = {protocol::Nfs3Samples(),
                                                               protocol::Nfs4Samples()};
  if (input.size() < 2) return 0;
  const auto& of_version = samples[input[0] % 2 == 0 ? 0 : 1];
  const protocol::ReplySample& sample =
      of_version[static_cast<uint8_t>(input[1]) % of_version.size()];
  const protocol::FeedResult result = sample.feed(input.substr(2));
  Require(sample.name, result.violation);
  return result.parsed && result.error == kOk ? 1 : 0;
}

}  // namespace

const size_t kCallCount = std::size(kCalls);

void Require(std::string_view procedure, protocol::Violation violation) {
  if (violation.empty()) return;
  std::fprintf(stderr, "%.*s: lacks %.*s\n", static_cast<int>(procedure.size()), procedure.data(),
               static_cast<int>(violation.size()), violation.data());
  std::abort();
}

size_t RunInput(std::string_view input) {
  if (input.empty()) return 0;
  const bool is_decoder = (input[0] & kIsDecoder) != 0;
  return is_decoder ? RunDecoder(input) : RunClient(input).succeeded;
}

ClientRun RunClient(std::string_view input, const ScriptedServer::Observer& observer) {
  Script script(input);
  const uint8_t kind = script.U8();
  const uint8_t pieces = script.U8();
  ScriptedServer server(script, kind % 2 == 0 ? 3 : 4, observer);
  SimulatedNetwork network(server, {kPieces[pieces % 16], kPieces[pieces / 16]});
  const Clock::time_point mount_end = Clock::now() + kMountTimeout + CheckedProtocol::kSlack;
  const std::unique_ptr<Protocol> nfs = Mount(kind);
  if (nfs == nullptr) return {0, script.position()};
  const protocol::RootReply root = nfs->GetRoot({1000, 100});
  Require("mount", Clock::now() < mount_end ? "" : "an end in time");
  if (root.error != kOk) return {0, script.position()};
  Client client{.nfs = *nfs, .root = root.handle};
  ClientRun run{.succeeded = 1};
  for (size_t i = 0; i < kCallsMax && !script.has_ended(); ++i) {
    const uint8_t call = script.U8();
    client.choice = call / 32;
    run.succeeded += kCalls[call % 32 % std::size(kCalls)](client);
  }
  run.position = script.position();
  return run;
}

}  // namespace nfswalk::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  nfswalk::fuzz::RunInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
