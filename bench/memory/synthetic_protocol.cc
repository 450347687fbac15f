#include "bench/memory/synthetic_protocol.h"

#include <array>
#include <cstring>
#include <system_error>

namespace nfswalk::bench {
namespace {

using protocol::Attributes;
using protocol::FileHandle;
using protocol::FileType;
using Kind = SyntheticTree::Kind;
using Node = SyntheticTree::Node;

constexpr uint32_t kDirectoryMode = 0755;
constexpr uint32_t kTransferBytes = 65536;

FileHandle HandleOf(Node node) {
  std::array<uint8_t, SyntheticTree::kHandleBytes> bytes{};
  const uint64_t id = SyntheticTree::IdOf(node);
  std::memcpy(bytes.data(), &id, sizeof id);
  return FileHandle(bytes);
}

Node NodeOf(const FileHandle& handle) {
  uint64_t id;
  std::memcpy(&id, handle.bytes().data(), sizeof id);
  return SyntheticTree::NodeOf(id);
}

Attributes AttributesOf(Node node) {
  const bool directory = node.kind != Kind::kFile;
  const protocol::Time made{.seconds = 1'000'000'000, .nanoseconds = 0};
  return {.type = directory ? FileType::kDirectory : FileType::kRegular,
          .mode = directory ? kDirectoryMode : SyntheticProtocol::kFileMode,
          .nlink = directory ? 2U : 1U,
          .fsid = 1,
          .fileid = SyntheticTree::IdOf(node),
          .atime = made,
          .mtime = made,
          .ctime = made,
          .change = 1};
}

template <class Reply>
Reply Refuse(std::errc error) {
  Reply reply{};
  reply.error = error;
  return reply;
}
template <class Reply>
Reply NothingChanges() {
  return Refuse<Reply>(std::errc::read_only_file_system);
}

}  // namespace

protocol::RootReply SyntheticProtocol::GetRoot(const Credential&) {
  const Node root{Kind::kRoot, 0};
  return {.handle = HandleOf(root),
          .attributes = AttributesOf(root),
          .limits = {.read_bytes_max = kTransferBytes,
                     .write_bytes_max = kTransferBytes,
                     .readdir_bytes_max = kTransferBytes}};
}

protocol::AttributesReply SyntheticProtocol::GetAttributes(const FileHandle& file,
                                                           const Credential&) {
  ++calls_;
  return {.attributes = AttributesOf(NodeOf(file))};
}

protocol::LookupReply SyntheticProtocol::Lookup(const FileHandle& directory, std::string_view name,
                                                const Credential&) {
  ++calls_;
  const Node parent = NodeOf(directory);
  const auto node = tree_.Find(parent, name);
  protocol::LookupReply reply;
  reply.directory = AttributesOf(parent);
  if (node) {
    reply.handle = HandleOf(*node);
    reply.attributes = AttributesOf(*node);
  } else {
    reply.error = std::errc::no_such_file_or_directory;
  }
  return reply;
}

protocol::AccessReply SyntheticProtocol::Access(const FileHandle& file, const Credential&) {
  ++calls_;
  return {.granted = protocol::kAccessAll, .attributes = AttributesOf(NodeOf(file))};
}

protocol::ReadDirReply SyntheticProtocol::ReadDir(const FileHandle& directory,
                                                  protocol::ReadDirPosition, bool,
                                                  const Credential&) {
  ++calls_;
  const Node parent = NodeOf(directory);
  const SyntheticTree::Entries entries = tree_.EntriesOf(parent);
  protocol::ReadDirReply reply;
  reply.eof = true;
  reply.directory = AttributesOf(parent);
  reply.entries.reserve(entries.end - entries.begin);
  for (uint64_t number = entries.begin; number < entries.end; ++number) {
    const Node node{entries.kind, number};
    reply.entries.push_back({.name = tree_.NameOf(node),
                             .fileid = SyntheticTree::IdOf(node),
                             .cookie = number - entries.begin + 1,
                             .attributes = AttributesOf(node),
                             .handle = HandleOf(node)});
  }
  return reply;
}

protocol::ReadLinkReply SyntheticProtocol::ReadLink(const FileHandle&, const Credential&) {
  return Refuse<protocol::ReadLinkReply>(std::errc::invalid_argument);
}
protocol::ReadReply SyntheticProtocol::Read(const FileHandle&, uint64_t, std::span<std::byte>,
                                            const protocol::OpenState*, const Credential&) {
  return {.eof = true, .attributes = {}};
}
protocol::WriteReply SyntheticProtocol::Write(const FileHandle&, uint64_t,
                                              std::span<const std::byte>,
                                              const protocol::OpenState*, const Credential&) {
  return NothingChanges<protocol::WriteReply>();
}
protocol::CreateReply SyntheticProtocol::Create(const FileHandle&, std::string_view,
                                                protocol::CreateMode, const SetAttributes&,
                                                const Credential&) {
  return NothingChanges<protocol::CreateReply>();
}
protocol::CreateReply SyntheticProtocol::MakeDirectory(const FileHandle&, std::string_view,
                                                       const SetAttributes&, const Credential&) {
  return NothingChanges<protocol::CreateReply>();
}
protocol::CreateReply SyntheticProtocol::MakeSymlink(const FileHandle&, std::string_view,
                                                     std::string_view, const SetAttributes&,
                                                     const Credential&) {
  return NothingChanges<protocol::CreateReply>();
}
protocol::LinkReply SyntheticProtocol::Link(const FileHandle&, const FileHandle&, std::string_view,
                                            const Credential&) {
  return NothingChanges<protocol::LinkReply>();
}
protocol::RenameReply SyntheticProtocol::Rename(const FileHandle&, std::string_view,
                                                const FileHandle&, std::string_view,
                                                const Credential&) {
  return NothingChanges<protocol::RenameReply>();
}
protocol::RemoveReply SyntheticProtocol::Remove(const FileHandle&, std::string_view,
                                                const Credential&) {
  return NothingChanges<protocol::RemoveReply>();
}
protocol::RemoveReply SyntheticProtocol::RemoveDirectory(const FileHandle&, std::string_view,
                                                         const Credential&) {
  return NothingChanges<protocol::RemoveReply>();
}
protocol::SetAttributesReply SyntheticProtocol::SetAttributesOf(const FileHandle&,
                                                                const SetAttributes&,
                                                                const Credential&) {
  return NothingChanges<protocol::SetAttributesReply>();
}

}  // namespace nfswalk::bench
