// ConnectNfs4(): resolves, pings and looks the export up.
#include "nfsclient/nfs4/nfs4.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <string>
#include <utility>
#include <vector>

#include "nfsclient/protocol/wire_limits.h"
#include "nfsclient/rpc/server_contact.h"

namespace nfswalk::protocol {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint16_t kNfsPort = 2049;  // RFC 7530 3.1: no portmapper

ConnectError Refused(std::errc error, std::string message) { return {error, std::move(message)}; }

std::vector<std::string_view> NamesOf(std::string_view path) {
  std::vector<std::string_view> names;
  while (!path.empty()) {
    const size_t length = std::min(path.find('/'), path.size());
    if (length != 0) names.push_back(path.substr(0, length));
    path.remove_prefix(std::min(length + 1, path.size()));
  }
  return names;
}

// `like`: as for ResolveHost().
std::expected<rpc::ServerLocation, ConnectError> FindServer(const ServerAddress& server,
                                                            Clock::time_point deadline,
                                                            const std::string& like = "") {
  const auto addresses = ResolveHost(server.host, deadline, like);
  if (!addresses) return std::unexpected(addresses.error());
  const uint16_t port = server.nfs_port != 0 ? server.nfs_port : kNfsPort;
  const auto address = FindListening(*addresses, port, "NFS", server.host, deadline);
  if (!address) return std::unexpected(address.error());
  return rpc::ServerLocation{*address, port};
}

struct RootHandle {
  std::errc error{};
  FileHandle handle;
  size_t names_found = 0;
};

// Looks up the export from the server's root, through the pseudo file system (RFC 7530 7.3).
std::expected<FileHandle, ConnectError> FindExport(rpc::Caller& caller, const ServerAddress& server,
                                                   Clock::time_point deadline) {
  const std::vector<std::string_view> names = NamesOf(server.export_path);
  Compound compound;
  compound.PutRoot();
  for (const std::string_view name : names) {
    if (CheckName(name) != kOk) {
      return std::unexpected(Refused(CheckName(name), "the export's path " + server.export_path +
                                                          " has a part of more than 255 bytes"));
    }
    compound.Lookup(name);
  }
  compound.GetHandle();
  if (compound.encoded_bytes() > Compound::kEncodedBytesMax) {
    return std::unexpected(Refused(std::errc::filename_too_long,
                                   "the export's path " + server.export_path + " is too long"));
  }
  rpc::Caller::Budget budget = rpc::Retry::BudgetUntil(deadline);
  const auto found = CallCompound<RootHandle>(
      caller, compound, Credential::OfProcess(), budget,
      [&](CompoundReader& reader, RootHandle& reply) {
        reader.Next(OP_PUTROOTFH);
        while (reply.names_found < names.size() && reader.Next(OP_LOOKUP)) {
          ++reply.names_found;
        }
        TakeHandle(reader, reply.handle);
        reply.error = reader.error();
      });
  if (found.error == kOk) return found.handle;
  if (found.error == std::errc::protocol_not_supported) {
    return std::unexpected(Refused(found.error, server.host + " does not offer NFS version 4." +
                                                    std::to_string(caller.minor_version())));
  }
  const std::string where = server.host + ":" + server.export_path + ": ";
  if (found.names_found < names.size()) {
    return std::unexpected(
        Refused(found.error, where + "\"" + std::string(names[found.names_found]) +
                                 "\": " + std::make_error_code(found.error).message() +
                                 "; version 4 paths begin at the server's pseudo root, which may "
                                 "differ from those of version 3"));
  }
  return std::unexpected(Refused(found.error, where + std::make_error_code(found.error).message()));
}

}  // namespace

std::expected<std::unique_ptr<Protocol>, ConnectError> Nfs4::ConnectNfs4(
    const ServerAddress& server, const TransportOptions& options,
    std::optional<Clock::time_point> given) {
  const milliseconds timeout{options.mount_timeout_ms};
  const Clock::time_point deadline = given.value_or(Clock::now() + timeout);
  const auto found = FindServer(server, deadline);
  if (!found) return std::unexpected(found.error());

  auto locator =
      std::make_shared<rpc::ServerLocator>(*found, [=](const rpc::ServerLocation& known) {
        return FindServer(server, Clock::now() + timeout, known.address);
      });
  auto caller = rpc::Caller::Open({found->address, found->port, NFS4_PROGRAM, NFS_V4}, options,
                                  std::move(locator));
  if (!caller) {
    return std::unexpected(
        Refused(caller.error(), "cannot open a socket for " + server.host + ": " +
                                    std::make_error_code(caller.error()).message()));
  }
  if (auto seen = (*caller)->Ping("NFS version 4", server.host, deadline); !seen) {
    return std::unexpected(seen.error());
  }
  (*caller)->SetMinorVersion(server.minor_version.value_or(0));
  std::unique_ptr<Nfs4> connected(new Nfs4(std::move(*caller), deadline));
  if (auto begun = connected->Begin(server); !begun) return std::unexpected(begun.error());
  return connected;
}

// Begins the session, where the version has any, and finds the export.
std::expected<void, ConnectError> Nfs4::Begin(const ServerAddress& server) {
  if (caller_->has_sessions()) {
    Budget budget = rpc::Retry::BudgetUntil(mount_deadline_);
    const std::errc error = open_files_->Establish(budget);
    if (error != kOk) {
      return std::unexpected(Refused(error, server.host + ": no session of NFS version 4." +
                                                std::to_string(caller_->minor_version()) + ": " +
                                                std::make_error_code(error).message()));
    }
    operations_limit_.Set(open_files_->limits().operations_max);
  }
  const auto root = FindExport(*caller_, server, mount_deadline_);
  if (!root) return std::unexpected(root.error());
  root_ = *root;
  return {};
}

Nfs4::Nfs4(std::unique_ptr<rpc::Caller> caller, Clock::time_point mount_deadline)
    : caller_(std::move(caller)),
      mount_deadline_(mount_deadline),
      open_files_(std::make_shared<OpenFiles>(*caller_, owner_names_)) {}

Nfs4::~Nfs4() {
  // A server that does not answer forgets the client with its lease.
  constexpr std::chrono::seconds kDiscardMax{1};
  Budget budget = rpc::Retry::BudgetUntil(Clock::now() + kDiscardMax);
  open_files_->Shutdown();
  open_files_->Discard(budget);
  Shutdown();
  open_files_->EndLease();
}

}  // namespace nfswalk::protocol
