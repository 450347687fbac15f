#include "nfsclient/cli/doctor/server_examination.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

namespace nfswalk::cli {
namespace {

using protocol::Protocol;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kContactMs = 5000;
constexpr uint32_t kTimeoutDs = 50;
constexpr size_t kRoundTrips = 32;
constexpr size_t kWarmLookups = 100;
constexpr std::chrono::seconds kBackChannelMax{1};
constexpr std::chrono::milliseconds kBackChannelPoll{5};
constexpr size_t kOpensMax = 8;

template <typename Call>
uint64_t DurationOf(Call call) {
  const Clock::time_point started = Clock::now();
  call();
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - started).count());
}

protocol::TransportOptions Impatient(protocol::TransportOptions transport) {
  transport.hard = false;
  transport.timeo_ds = std::min(transport.timeo_ds, kTimeoutDs);
  transport.retrans = 0;
  transport.mount_timeout_ms = std::min(transport.mount_timeout_ms, kContactMs);
  return transport;
}

std::string RootRefusal(std::errc error) {
  return "the root of the export cannot be read: " + std::make_error_code(error).message();
}

Durations MeasureRoundTrip(Protocol& protocol, const protocol::FileHandle& root,
                           const Credential& credential) {
  std::vector<uint64_t> durations_ns;
  for (size_t i = 0; i < kRoundTrips; ++i) {
    std::errc error{};
    const uint64_t duration_ns =
        DurationOf([&] { error = protocol.GetAttributes(root, credential).error; });
    if (error != std::errc{}) break;
    durations_ns.push_back(duration_ns);
  }
  return Summarize(std::move(durations_ns));
}

// Down into a directory and up again, as often as it takes. The first calls let the connection
// learn what the server refuses.
std::optional<size_t> CountNamesPerCompound(Protocol& protocol, const protocol::FileHandle& root,
                                            std::string_view directory,
                                            const Credential& credential) {
  std::vector<std::string_view> names;
  while (names.size() < ServerExamination::kNamesTried) {
    names.push_back(directory);
    names.push_back("..");
  }
  constexpr int kLearningCalls = 8;
  uint64_t calls = 0;
  for (int i = 0; i < kLearningCalls; ++i) {
    const uint64_t before = protocol.rpcs_sent();
    if (protocol.LookupPath(root, names, credential).error != std::errc{}) return std::nullopt;
    calls = protocol.rpcs_sent() - before;
  }
  return (names.size() + calls - 1) / std::max<uint64_t>(calls, 1);
}

// The server binds a connection to call over while others are used.
bool AwaitBackChannel(const Protocol& protocol) {
  const Clock::time_point end = Clock::now() + kBackChannelMax;
  while (!protocol.transport_stats().has_back_channel) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(kBackChannelPoll);
  }
  return true;
}

// Opens files of the root, and closes them, until one may be read. nullopt: none was opened, or the
// server was not asked for a delegation.
std::optional<bool> OpensWithDelegation(Protocol& protocol, const protocol::FileHandle& root,
                                        const protocol::ReadDirReply& listing,
                                        const Credential& credential) {
  size_t tried = 0;
  for (const DirectoryEntry& entry : listing.entries) {
    if (!entry.attributes || !entry.handle) continue;
    if (entry.attributes->type != protocol::FileType::kRegular) continue;
    if (++tried > kOpensMax) return std::nullopt;
    const uint64_t refused = protocol.transport_stats().delegations.refused;
    const auto opened = protocol.Open(root, entry.name, *entry.handle, /*read=*/true,
                                      /*write=*/false, credential, protocol::AskDelegation::kYes);
    if (opened.error == std::errc::permission_denied) continue;
    if (opened.error != std::errc{}) return std::nullopt;
    if (opened.delegation != nullptr) return true;
    if (protocol.transport_stats().delegations.refused != refused) return false;
    return std::nullopt;
  }
  return std::nullopt;
}

// nullopt: the server was not asked, or could not be read.
std::optional<bool> DelegatesRoot(Protocol& protocol, const protocol::FileHandle& root,
                                  const Credential& credential) {
  if (!protocol.delegates_directories()) return std::nullopt;
  const auto reply = protocol.Delegate(root, credential);
  if (reply.error != std::errc{}) return std::nullopt;
  return reply.delegation != nullptr;
}

void ExamineListing(Protocol& protocol, const protocol::FileHandle& root,
                    const Credential& credential, ServerExamination& found) {
  const protocol::ReadDirReply listing = protocol.ReadDir(root, {}, true, credential);
  if (listing.error != std::errc{}) return;
  for (const DirectoryEntry& entry : listing.entries) {
    if (entry.name == "." || entry.name == "..") continue;
    const bool complete = entry.attributes && entry.handle;
    found.listings_with_attributes = found.listings_with_attributes.value_or(true) && complete;
    if (complete && entry.attributes->type == protocol::FileType::kDirectory &&
        protocol.can_lookup_paths() && !found.names_per_compound) {
      found.names_per_compound = CountNamesPerCompound(protocol, root, entry.name, credential);
    }
  }
  if (found.has_back_channel == true) {
    found.delegates_files = OpensWithDelegation(protocol, root, listing, credential);
    found.delegates_directories = DelegatesRoot(protocol, root, credential);
  }
}

// Returns why a mount by the version of `server` fails; "" if it does not.
std::string TryVersion(const protocol::ServerAddress& server,
                       const protocol::TransportOptions& transport, const Credential& credential) {
  auto connection = Connect(server, transport);
  if (!connection) return connection.error().message;
  const auto root = connection->protocol->GetRoot(credential);
  return root.error == std::errc{} ? "" : RootRefusal(root.error);
}

// Asks by the version that a mount uses.
void ExamineUsed(ExaminedServer& examined, const Credential& credential) {
  Protocol& protocol = *examined.connection.protocol;
  const auto root = protocol.GetRoot(credential);
  if (root.error != std::errc{}) {
    examined.refusal = RootRefusal(root.error);
    return;
  }
  ServerExamination& found = examined.found;
  found.reached = true;
  found.limits = root.limits;
  found.root = root.attributes;
  found.root_granted = protocol.Access(root.handle, credential).granted;
  found.round_trip = MeasureRoundTrip(protocol, root.handle, credential);
  if (examined.connection.server.minor_version > 0u) {
    found.has_back_channel = AwaitBackChannel(protocol);
  }
  ExamineListing(protocol, root.handle, credential, found);
}

}  // namespace

Durations Summarize(std::vector<uint64_t> durations_ns) {
  if (durations_ns.empty()) return {};
  std::ranges::sort(durations_ns);
  return {durations_ns.size(), durations_ns.front(), durations_ns[durations_ns.size() / 2],
          durations_ns.back()};
}

ExaminedServer ExamineServer(const MountOptions& options, const Credential& credential) {
  ExaminedServer examined;
  const protocol::TransportOptions transport = Impatient(options.transport);
  if (auto connection = Connect(options.server, transport)) {
    examined.connection = std::move(*connection);
    ExamineUsed(examined, credential);
  } else {
    examined.refusal = std::move(connection.error().message);
  }
  for (const auto& [version, minor_version] : {std::pair(3, 0u), {4, 0u}, {4, 1u}, {4, 2u}}) {
    OfferedVersion& offered = examined.found.versions.emplace_back(version, minor_version);
    if (examined.found.reached && offered.IsOf(examined.connection.server)) continue;
    protocol::ServerAddress server = options.server;
    server.version = version;
    server.minor_version = minor_version;
    offered.refusal = TryVersion(server, transport, credential);
  }
  return examined;
}

WarmLookups ExamineLookups(Client& client, const std::string& path, const Credential& credential) {
  WarmLookups lookups;
  // The second call fills what the first did not need: access rights, the path cache.
  for (int i = 0; i < 2; ++i) {
    const auto first = client.Stat(path, credential);
    if (!first) {
      lookups.error = first.error();
      return lookups;
    }
  }
  const Stats before = client.stats();
  std::vector<uint64_t> durations_ns;
  for (size_t i = 0; i < kWarmLookups; ++i) {
    durations_ns.push_back(DurationOf([&] { (void)client.Stat(path, credential); }));
  }
  const Stats after = client.stats();
  lookups.duration = Summarize(std::move(durations_ns));
  lookups.in_rcu_mode = after.rcu_walks - before.rcu_walks;
  for (size_t i = 0; i < kNeedRefCount; ++i) {
    lookups.left[i] = after.need_ref[i] - before.need_ref[i];
  }
  return lookups;
}

}  // namespace nfswalk::cli
