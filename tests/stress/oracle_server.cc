#include "tests/stress/oracle_server.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "access_cache/access_rights.h"
#include "tests/stress/oracle.h"

namespace nfswalk::stress {

using protocol::CreateReply;
using protocol::kStale;
using protocol::PreOpAttributes;
using protocol::RemoveReply;
using protocol::SetAttributes;
using protocol::WeakCacheConsistency;

namespace {

thread_local Change* change_of_thread = nullptr;

protocol::FileHandle HandleOf(NodeId node) {
  uint8_t bytes[sizeof node];
  std::memcpy(bytes, &node, sizeof node);
  return protocol::FileHandle(bytes);
}

uint32_t ServerBits(uint32_t access_bits) {
  namespace rights = access_cache;
  uint32_t bits = 0;
  if ((access_bits & rights::kMayRead) != 0) bits |= rights::kServerRead;
  if ((access_bits & rights::kMayWrite) != 0) {
    bits |= rights::kServerModify | rights::kServerExtend | rights::kServerDelete;
  }
  if ((access_bits & rights::kMayExec) != 0) bits |= rights::kServerLookup | rights::kServerExecute;
  return bits;
}

uint32_t AccessBitsOf(const Attributes& attributes, const sunrpc_auth::Credential& who) {
  return AccessBits(attributes.mode, who.uid() == OracleServer::kSuperuser);
}

// True for files with odd numbers: after removal they stay open, and their handles valid.
bool IsKeptOpen(const Node& node) {
  return node.type != FileType::kDirectory && node.attributes.now().fileid % 2 == 1;
}

std::string Named(NodeId directory, std::string_view name) {
  return std::to_string(directory) + "/" + std::string(name);
}

template <class Reply>
Reply Failed(std::errc error) {
  Reply reply;
  reply.error = error;
  return reply;
}

}  // namespace

OracleServer::OracleServer(TickClock& clock, Options options)
    : clock_(clock), options_(std::move(options)), delegations_(mutex_, options_.on_reply) {}

Change* OracleServer::TakeChange() { return std::exchange(change_of_thread, nullptr); }

NodeId OracleServer::NodeOf(const FileHandle& handle) const {
  NodeId id;
  std::memcpy(&id, handle.bytes().data(), sizeof id);
  const Node* node = history_.Find(id);
  if (node == nullptr) return kNothing;
  return node->attributes.now().nlink == 0 && !IsKeptOpen(*node) ? kNothing : id;
}

Change& OracleServer::Begin(std::string what) {
  Change& change = history_.NewChange(clock_.Now(), std::move(what));
  change_of_thread = &change;
  return change;
}

Attributes OracleServer::Touched(const Attributes& attributes) {
  Attributes touched = attributes;
  touched.ctime = {++seconds_, 0};
  if (touched.type == FileType::kDirectory) touched.mtime = touched.ctime;
  touched.change = static_cast<uint64_t>(seconds_);
  return touched;
}

void OracleServer::Touch(NodeId node, const Change& change) {
  history_.SetAttributes(node, Touched(Now(node)), change);
}

WeakCacheConsistency OracleServer::Before(NodeId node) const {
  return {.before = PreOpAttributes{Now(node).change}};
}

void OracleServer::After(WeakCacheConsistency& wcc, NodeId node) const { wcc.after = Now(node); }

bool OracleServer::IsEmpty(NodeId directory) const {
  for (const auto& [name, past] : history_.at(directory).names) {
    if (past.now() != kNothing) return false;
  }
  return true;
}

bool OracleServer::IsBelow(NodeId node, NodeId ancestor) const {
  for (; node != kRootNode; node = history_.at(node).place.now().parent) {
    if (node == ancestor) return true;
  }
  return ancestor == kRootNode;
}

// Removes `name`, which led to `node`.
void OracleServer::DropName(NodeId directory, std::string_view name, NodeId node,
                            const Change& change) {
  Attributes left = Touched(Now(node));
  left.nlink = left.type == FileType::kDirectory ? 0 : left.nlink - 1;
  history_.SetAttributes(node, left, change);
  history_.SetName(directory, name, kNothing, change);
}

OracleServer::CallScope::CallScope(OracleServer& server) : server_(server) {
  ++server_.rpcs_;
  server_.mutex_.lock();
}

OracleServer::CallScope::~CallScope() {
  server_.mutex_.unlock();
  if (server_.options_.on_reply) server_.options_.on_reply();
}

protocol::RootReply OracleServer::GetRoot(const Credential&) {
  std::lock_guard lock(mutex_);
  return {
      .handle = HandleOf(kRootNode),
      .attributes = Now(kRootNode),
      .limits = {.read_bytes_max = 65536, .write_bytes_max = 65536, .readdir_bytes_max = 65536}};
}

protocol::AttributesReply OracleServer::GetAttributes(const FileHandle& file, const Credential&) {
  const CallScope scope(*this);
  const NodeId node = NodeOf(file);
  protocol::AttributesReply reply;
  if (node == kNothing) {
    reply.error = kStale;
  } else {
    reply.attributes = Now(node);
  }
  return reply;
}

protocol::LookupReply OracleServer::Lookup(const FileHandle& directory, std::string_view name,
                                           const Credential& who) {
  const CallScope scope(*this);
  const NodeId parent = NodeOf(directory);
  protocol::LookupReply reply;
  if (parent == kNothing) {
    reply.error = kStale;
  } else {
    reply.directory = Now(parent);
    const NodeId child = history_.Child(parent, name);
    if ((AccessBitsOf(Now(parent), who) & access_cache::kMayExec) == 0) {
      reply.error = std::errc::permission_denied;
    } else if (child == kNothing) {
      reply.error = std::errc::no_such_file_or_directory;
    } else {
      reply.handle = HandleOf(child);
      reply.attributes = Now(child);
    }
  }
  return reply;
}

protocol::AccessReply OracleServer::Access(const FileHandle& file, const Credential& who) {
  const CallScope scope(*this);
  const NodeId node = NodeOf(file);
  if (node == kNothing) return Failed<protocol::AccessReply>(kStale);
  protocol::AccessReply reply{.granted = ServerBits(AccessBitsOf(Now(node), who)),
                              .attributes = Now(node)};
  return reply;
}

protocol::ReadLinkReply OracleServer::ReadLink(const FileHandle& link, const Credential&) {
  const CallScope scope(*this);
  const NodeId node = NodeOf(link);
  if (node == kNothing) return Failed<protocol::ReadLinkReply>(kStale);
  protocol::ReadLinkReply reply{.target = history_.at(node).target, .attributes = Now(node)};
  return reply;
}

protocol::ReadDirReply OracleServer::ReadDir(const FileHandle& directory, protocol::ReadDirPosition,
                                             bool plus, const Credential& who) {
  const CallScope scope(*this);
  const NodeId node = NodeOf(directory);
  if (node == kNothing) return Failed<protocol::ReadDirReply>(kStale);
  if ((AccessBitsOf(Now(node), who) & access_cache::kMayRead) == 0) {
    return Failed<protocol::ReadDirReply>(std::errc::permission_denied);
  }
  protocol::ReadDirReply reply;
  reply.eof = true;
  reply.directory = Now(node);
  for (const auto& [name, past] : history_.at(node).names) {
    const NodeId child = past.now();
    if (child == kNothing) continue;
    protocol::DirectoryEntry& entry = reply.entries.emplace_back();
    entry.name = name;
    entry.fileid = child;
    entry.cookie = reply.entries.size();
    if (!plus) continue;
    entry.attributes = Now(child);
    entry.handle = HandleOf(child);
  }
  return reply;
}

CreateReply OracleServer::CreateNode(const FileHandle& directory, std::string_view name,
                                     FileType type, std::string_view target,
                                     const SetAttributes& attributes) {
  const CallScope scope(*this);
  const NodeId parent = NodeOf(directory);
  if (parent == kNothing) return Failed<CreateReply>(kStale);
  CreateReply reply;
  reply.directory = Before(parent);
  if (history_.Child(parent, name) != kNothing) {
    reply.error = std::errc::file_exists;
  } else {
    Change& change = Begin("create " + Named(parent, name) + " " + std::string(target));
    Attributes made;
    made.type = type;
    made.mode = attributes.mode.value_or(0755);
    made.nlink = type == FileType::kDirectory ? 2 : 1;
    made.size_bytes = target.size();
    made.mtime = {seconds_ + 1, 0};
    const NodeId node = history_.Make(type, std::string(target), Touched(made), change);
    change.what += " = " + std::to_string(node);
    history_.SetName(parent, name, node, change);
    Touch(parent, change);
    reply.handle = HandleOf(node);
    reply.attributes = Now(node);
  }
  After(reply.directory, parent);
  return reply;
}

CreateReply OracleServer::Create(const FileHandle& directory, std::string_view name,
                                 protocol::CreateMode, const SetAttributes& attributes,
                                 const Credential&) {
  return CreateNode(directory, name, FileType::kRegular, "", attributes);
}

CreateReply OracleServer::MakeDirectory(const FileHandle& directory, std::string_view name,
                                        const SetAttributes& attributes, const Credential&) {
  return CreateNode(directory, name, FileType::kDirectory, "", attributes);
}

CreateReply OracleServer::MakeSymlink(const FileHandle& directory, std::string_view name,
                                      std::string_view target, const SetAttributes& attributes,
                                      const Credential&) {
  return CreateNode(directory, name, FileType::kSymlink, target, attributes);
}

protocol::LinkReply OracleServer::Link(const FileHandle& file, const FileHandle& directory,
                                       std::string_view name, const Credential&) {
  const CallScope scope(*this);
  const NodeId node = NodeOf(file);
  const NodeId parent = NodeOf(directory);
  if (node == kNothing || parent == kNothing || Now(node).nlink == 0) {
    return Failed<protocol::LinkReply>(kStale);
  }
  protocol::LinkReply reply;
  reply.directory = Before(parent);
  if (history_.Child(parent, name) != kNothing) {
    reply.error = std::errc::file_exists;
  } else {
    Change& change = Begin("link " + std::to_string(node) + " to " + Named(parent, name));
    Attributes more = Touched(Now(node));
    ++more.nlink;
    history_.SetAttributes(node, more, change);
    history_.SetName(parent, name, node, change);
    Touch(parent, change);
  }
  reply.attributes = Now(node);
  After(reply.directory, parent);
  return reply;
}

// As rename(2).
std::errc OracleServer::CheckRename(NodeId from, NodeId moved, NodeId to, NodeId replaced) const {
  if (from == kNothing || to == kNothing) return kStale;
  if (moved == kNothing) return std::errc::no_such_file_or_directory;
  const bool directory = Now(moved).type == FileType::kDirectory;
  if (directory && IsBelow(to, moved)) return std::errc::invalid_argument;
  if (replaced == kNothing || replaced == moved) return {};
  const bool onto_directory = Now(replaced).type == FileType::kDirectory;
  if (directory && !onto_directory) return std::errc::not_a_directory;
  if (!directory && onto_directory) return std::errc::is_a_directory;
  if (onto_directory && !IsEmpty(replaced)) return std::errc::directory_not_empty;
  return {};
}

void OracleServer::MoveName(NodeId from, std::string_view from_name, NodeId moved, NodeId to,
                            std::string_view to_name, NodeId replaced, const Change& change) {
  if (replaced != kNothing) DropName(to, to_name, replaced, change);
  history_.SetName(from, from_name, kNothing, change);
  history_.SetName(to, to_name, moved, change);
  Touch(moved, change);
  Touch(from, change);
  if (to != from) Touch(to, change);
}

protocol::RenameReply OracleServer::Rename(const FileHandle& from_directory,
                                           std::string_view from_name,
                                           const FileHandle& to_directory, std::string_view to_name,
                                           const std::optional<protocol::KnownObject>&,
                                           const Credential&) {
  const CallScope scope(*this);
  const NodeId from = NodeOf(from_directory);
  const NodeId to = NodeOf(to_directory);
  const NodeId moved = from == kNothing ? kNothing : history_.Child(from, from_name);
  const NodeId replaced = to == kNothing ? kNothing : history_.Child(to, to_name);
  protocol::RenameReply reply;
  reply.error = CheckRename(from, moved, to, replaced);
  if (from != kNothing) reply.from_directory = Before(from);
  if (to != kNothing) reply.to_directory = Before(to);
  // Two names of one file: succeeds without effect.
  if (reply.error == std::errc{} && moved != replaced) {
    Change& change = Begin("rename " + Named(from, from_name) + " = " + std::to_string(moved) +
                           " to " + Named(to, to_name));
    MoveName(from, from_name, moved, to, to_name, replaced, change);
  }
  if (from != kNothing) After(reply.from_directory, from);
  if (to != kNothing) After(reply.to_directory, to);
  return reply;
}

RemoveReply OracleServer::RemoveNode(const FileHandle& directory, std::string_view name,
                                     bool is_directory) {
  const CallScope scope(*this);
  const NodeId parent = NodeOf(directory);
  if (parent == kNothing) return Failed<RemoveReply>(kStale);
  RemoveReply reply{.directory = Before(parent)};
  const NodeId node = history_.Child(parent, name);
  if (node == kNothing) {
    reply.error = std::errc::no_such_file_or_directory;
  } else if ((Now(node).type == FileType::kDirectory) != is_directory) {
    reply.error = is_directory ? std::errc::not_a_directory : std::errc::is_a_directory;
  } else if (is_directory && !IsEmpty(node)) {
    reply.error = std::errc::directory_not_empty;
  } else {
    Change& change = Begin("remove " + Named(parent, name) + " = " + std::to_string(node));
    DropName(parent, name, node, change);
    Touch(parent, change);
  }
  After(reply.directory, parent);
  return reply;
}

RemoveReply OracleServer::Remove(const FileHandle& directory, std::string_view name,
                                 const std::optional<protocol::KnownObject>&, const Credential&) {
  return RemoveNode(directory, name, false);
}

RemoveReply OracleServer::RemoveDirectory(const FileHandle& directory, std::string_view name,
                                          const std::optional<protocol::KnownObject>&,
                                          const Credential&) {
  return RemoveNode(directory, name, true);
}

protocol::FileChangeReply OracleServer::SetAttributesOf(const FileHandle& file,
                                                        const SetAttributes& wanted,
                                                        const Credential&) {
  const CallScope scope(*this);
  const NodeId node = NodeOf(file);
  if (node == kNothing) return Failed<protocol::FileChangeReply>(kStale);
  protocol::FileChangeReply reply{.file = Before(node)};
  reply.file.after = SetNow(node, wanted, Begin("set attributes of " + std::to_string(node)));
  return reply;
}

Attributes OracleServer::SetNow(NodeId node, const SetAttributes& wanted, const Change& change) {
  Attributes now = Touched(Now(node));
  if (wanted.mode) now.mode = *wanted.mode;
  if (wanted.size_bytes) now.size_bytes = *wanted.size_bytes;
  history_.SetAttributes(node, now, change);
  return now;
}

// The name may lead to another file by now, which the client is told of by the error.
protocol::OpenReply OracleServer::Open(const FileHandle& directory, std::string_view name,
                                       const FileHandle& file, bool, bool write,
                                       const Credential& who, protocol::AskDelegation ask) {
  const CallScope scope(*this);
  const NodeId parent = NodeOf(directory);
  if (parent == kNothing) return Failed<protocol::OpenReply>(kStale);
  if ((AccessBitsOf(Now(parent), who) & access_cache::kMayExec) == 0) {
    return Failed<protocol::OpenReply>(std::errc::permission_denied);
  }
  const NodeId node = history_.Child(parent, name);
  if (node == kNothing) {
    return Failed<protocol::OpenReply>(std::errc::no_such_file_or_directory);
  }
  if (node != NodeOf(file)) return Failed<protocol::OpenReply>(kStale);
  if ((AccessBitsOf(Now(node), who) & access_cache::kMayRead) == 0) {
    return Failed<protocol::OpenReply>(std::errc::permission_denied);
  }
  protocol::OpenReply reply;
  reply.state = std::make_unique<protocol::OpenState>();
  reply.attributes = Now(node);
  if (!write && ask != protocol::AskDelegation::kNo) reply.delegation = delegations_.Grant(node);
  return reply;
}

NodeId OracleServer::NodeAt(std::string_view path, FileType type) const {
  NodeId node = kRootNode;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    if (Now(node).type != FileType::kDirectory) return kNothing;
    node = history_.Child(node, name);
    if (node == kNothing) return kNothing;
  }
  return Now(node).type == type ? node : kNothing;
}

protocol::DelegateReply OracleServer::Delegate(const FileHandle& directory, const Credential&) {
  const CallScope scope(*this);
  const NodeId node = NodeOf(directory);
  if (node == kNothing) return Failed<protocol::DelegateReply>(kStale);
  return {.attributes = Now(node), .delegation = delegations_.Grant(node)};
}

void OracleServer::ChangeByOther(std::string_view path, const SetAttributes& wanted) {
  std::unique_lock lock(mutex_);
  const auto file = [&] { return NodeAt(path, FileType::kRegular); };
  for (NodeId node = file(); node != kNothing;) {
    delegations_.Recall(node, lock);
    const NodeId then = file();
    if (then == node) {
      Change& change =
          history_.NewChange(clock_.Now(), "another client's, of " + std::to_string(node));
      (void)SetNow(node, wanted, change);
      change.returned = clock_.Now();
      return;
    }
    node = then;
  }
}

// A recall gives up the mutex: the names may be others' by then.
void OracleServer::RenameByOther(std::string_view path, std::string_view from,
                                 std::string_view to) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const NodeId directory = NodeAt(path, FileType::kDirectory);
    if (directory == kNothing) return;
    const NodeId moved = history_.Child(directory, from), replaced = history_.Child(directory, to);
    if (moved == replaced) return;
    if (CheckRename(directory, moved, directory, replaced) != std::errc{}) return;
    const std::array<NodeId, 3> changed{directory, moved, replaced};
    const auto held = std::ranges::find_if(
        changed, [&](NodeId node) { return node != kNothing && delegations_.IsHeld(node); });
    if (held != changed.end()) {
      delegations_.Recall(*held, lock);
      continue;
    }
    Change& change =
        history_.NewChange(clock_.Now(), "another client's rename of " + Named(directory, from) +
                                             " to " + std::string(to));
    MoveName(directory, from, moved, directory, to, replaced, change);
    change.returned = clock_.Now();
    return;
  }
}

void OracleServer::EndIdle() {
  const std::lock_guard lock(mutex_);
  delegations_.EndIdle();
}

void OracleServer::RecallAll() {
  std::unique_lock lock(mutex_);
  delegations_.RecallAll(lock);
}

protocol::ReadReply OracleServer::Read(const FileHandle&, uint64_t, std::span<std::byte>,
                                       const protocol::OpenState*, const Credential&) {
  return Failed<protocol::ReadReply>(std::errc::not_supported);
}

protocol::WriteReply OracleServer::Write(const FileHandle&, uint64_t, std::span<const std::byte>,
                                         const protocol::OpenState*, const Credential&) {
  return Failed<protocol::WriteReply>(std::errc::not_supported);
}

}  // namespace nfswalk::stress
