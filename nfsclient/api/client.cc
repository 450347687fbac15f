// Client: mount, shutdown and the calls about all of its caches.

#include "nfsclient/client.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "nfsclient/api/connect.h"
#include "nfsclient/data/write_back.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/delegation.h"
#include "nfsclient/nfs/silly_rename.h"
#include "nfsclient/nfs/splice.h"
#include "nfsclient/superblock/superblock.h"
#include "rcu/defer.h"
#include "rcu/fork.h"

namespace nfswalk {

namespace {

// How long the end of a mount waits for the server to remove what was removed while it was open.
constexpr std::chrono::milliseconds kSillyNamesLimit{1000};
// Limit of the time in which it returns delegations: others wait a lease time for what is left.
constexpr std::chrono::milliseconds kDelegationsLimit{1000};

MountError RootError(std::errc error, const MountOptions& options) {
  return {error, "cannot read the root of " + options.server.host + ":" +
                     options.server.export_path + ": " +
                     std::make_error_condition(error).message() +
                     "; does the server still export it?"};
}

// Fits std::string's inline buffer: allocates nothing.
MountError OutOfMemory() { return {std::errc::not_enough_memory, "out of memory"}; }

MountError Forked() {
  return {std::errc::operation_canceled,
          "this process is the child of a fork(2) of one that had mounted; exec(2) first, or fork "
          "before the first mount"};
}

// nfs(5) rsize, wsize.
uint32_t TransferBytes(uint32_t option_bytes, uint32_t server_bytes_max) {
  constexpr uint32_t kUnit = 1024, kLeast = 4096;
  if (option_bytes == 0) return server_bytes_max;
  const uint32_t bytes = option_bytes < kUnit ? kLeast : option_bytes / kUnit * kUnit;
  return std::min(bytes, server_bytes_max);
}

}  // namespace

Client::Client(std::unique_ptr<nfs::Superblock> superblock)
    : Node(*superblock, nullptr), mounted_(superblock.release()) {}
Client::~Client() = default;

void Client::Unmount::operator()(nfs::Superblock* superblock) const {
  if (rcu::InForkedChild()) return;
  nfs::RemoveAllSillyNames(*superblock, kSillyNamesLimit);
  nfs::ReturnAllDelegations(*superblock, kDelegationsLimit);
  delete superblock;
}

std::expected<std::unique_ptr<Client>, MountError> Client::Mount(const MountOptions& options) try {
  if (rcu::InForkedChild()) return std::unexpected(Forked());
  auto connection = Connect(options.server, options.transport);
  if (!connection) {
    return std::unexpected(MountError{connection.error().error, connection.error().message});
  }
  MountOptions agreed = options;
  agreed.server = std::move(connection->server);
  return MountOver(std::move(connection->protocol), agreed);
} catch (const std::bad_alloc&) {
  return std::unexpected(OutOfMemory());
}

std::expected<std::unique_ptr<Client>, MountError> Client::MountOver(
    std::unique_ptr<protocol::Protocol> protocol, const MountOptions& options) try {
  if (rcu::InForkedChild()) return std::unexpected(Forked());
  if (const std::errc error = rcu::StartCallbackThread(); error != kOk) {
    return std::unexpected(
        MountError{error, "cannot start a thread: " + std::make_error_condition(error).message()});
  }
  auto created = nfs::Superblock::Create(std::move(protocol), options);
  if (!created) {
    return std::unexpected(MountError{std::errc::invalid_argument, std::move(created.error())});
  }
  std::unique_ptr<nfs::Superblock> superblock = std::move(*created);
  auto stamp = nfs::Stamp(*superblock);
  auto reply = superblock->protocol->GetRoot(Credential::OfProcess());
  if (reply.error != kOk) return std::unexpected(RootError(reply.error, options));
  superblock->limits = reply.limits;
  if (superblock->protocol->has_acl(protocol::AclKind::kNfs4) && !reply.limits.has_acls) {
    superblock->without_acls.Add(reply.attributes.fsid);
  }
  superblock->limits.read_bytes_max = TransferBytes(options.rsize, reply.limits.read_bytes_max);
  superblock->limits.write_bytes_max = TransferBytes(options.wsize, reply.limits.write_bytes_max);
  auto& name_max = superblock->limits.name_bytes_max;
  name_max = name_max == 0 ? vfs::kNameMax : std::min<uint32_t>(name_max, vfs::kNameMax);
  auto inode = nfs::FetchInode(*superblock, reply.handle, reply.attributes, stamp);
  if (!inode) {
    return std::unexpected(inode.error() == std::errc::not_enough_memory
                               ? OutOfMemory()
                               : RootError(inode.error(), options));
  }
  superblock->root = superblock->dentries.MakeRoot(std::move(*inode));
  if (!superblock->root) return std::unexpected(OutOfMemory());
  return std::unique_ptr<Client>(new Client(std::move(superblock)));
} catch (const std::bad_alloc&) {
  return std::unexpected(OutOfMemory());
}

std::errc Client::Sync() try {
  if (rcu::InForkedChild()) return std::errc::operation_canceled;
  std::errc failed{};
  for (const auto& data : superblock_.dirty_files.All()) {
    const std::errc error = data->LockAndFlush(data::WriteBack::Until::kCommitted);
    if (failed == kOk) failed = error;
  }
  return failed != kOk ? failed : superblock_.write_errors.FindUnreported();
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

void Client::Shutdown() {
  if (rcu::InForkedChild()) return;
  nfs::RemoveAllSillyNames(superblock_, kSillyNamesLimit);
  nfs::ReturnAllDelegations(superblock_, kDelegationsLimit);
  superblock_.Shutdown();
}

void Client::DropCaches() {
  if (!rcu::InForkedChild()) superblock_.DropCaches();
}
void Client::InvalidateCaches() {
  if (!rcu::InForkedChild()) nfs::InvalidateAll(superblock_);
}

std::errc Client::OnInvalidation(std::function<void(const Invalidation&)> listener,
                                 size_t queue_max) {
  if (rcu::InForkedChild()) return std::errc::operation_canceled;
  return superblock_.invalidations.Listen(std::move(listener), queue_max);
}

void Client::AwaitInvalidations() {
  if (!rcu::InForkedChild()) superblock_.invalidations.AwaitDelivery();
}

bool Client::HasQueued(const Node& node) const {
  return !rcu::InForkedChild() && superblock_.invalidations.HasQueued(node.id());
}

uint64_t Client::invalidations_queued() const { return superblock_.invalidations.posted(); }

void Client::Invalidate(InvalidReason reason, const Node& node) {
  if (rcu::InForkedChild()) return;
  const vfs::DentryRef& at = node.at_ != nullptr ? *node.at_ : superblock_.root;
  superblock_.invalidations.Post(reason, *at.inode());
  superblock_.invalidations.AwaitDelivery();
}

const protocol::ServerAddress& Client::server() const { return superblock_.options.server; }
bool Client::has_acls() const { return superblock_.limits.has_acls; }
Stats Client::stats() const { return superblock_.GetStats(); }
TransportStats Client::transport_stats() const { return superblock_.protocol->transport_stats(); }

}  // namespace nfswalk
