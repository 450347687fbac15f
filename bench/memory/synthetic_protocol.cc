#include "bench/memory/synthetic_protocol.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

namespace nfswalk::bench {
namespace {

using protocol::Attributes;
using protocol::Credential;
using protocol::FileHandle;
using protocol::FileType;
using protocol::OpenState;
using protocol::SetAttributes;
using Kind = SyntheticTree::Kind;
using Node = SyntheticTree::Node;

constexpr uint32_t kDirectoryMode = 0755;
constexpr uint32_t kFileMode = 0644;
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
          .mode = directory ? kDirectoryMode : kFileMode,
          .nlink = directory ? 2U : 1U,
          .fsid = 1,
          .fileid = SyntheticTree::IdOf(node),
          .atime = made,
          .mtime = made,
          .ctime = made,
          .change = 1};
}

// Converts to any reply with this error.
struct Refusal {
  std::errc error;
  template <class Reply>
  operator Reply() const {
    Reply reply{};
    reply.error = error;
    return reply;
  }
};
constexpr Refusal kNotALink{std::errc::invalid_argument};
constexpr Refusal kReadOnly{std::errc::read_only_file_system};

class SyntheticProtocol final : public protocol::Protocol {
 public:
  explicit SyntheticProtocol(const SyntheticTree& tree) : tree_(tree) {}

  protocol::RootReply GetRoot(const Credential&) override {
    const Node root{Kind::kRoot, 0};
    return {.handle = HandleOf(root),
            .attributes = AttributesOf(root),
            .limits = {.read_bytes_max = kTransferBytes,
                       .write_bytes_max = kTransferBytes,
                       .readdir_bytes_max = kTransferBytes}};
  }

  protocol::AttributesReply GetAttributes(const FileHandle& file, const Credential&) override {
    ++calls_;
    return {.attributes = AttributesOf(NodeOf(file))};
  }

  protocol::LookupReply Lookup(const FileHandle& directory, std::string_view name,
                               const Credential&) override {
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

  protocol::AccessReply Access(const FileHandle& file, const Credential&) override {
    ++calls_;
    return {.granted = protocol::kAccessAll, .attributes = AttributesOf(NodeOf(file))};
  }

  protocol::ReadDirReply ReadDir(const FileHandle& directory, protocol::ReadDirPosition, bool,
                                 const Credential&) override {
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

  protocol::ReadLinkReply ReadLink(const FileHandle&, const Credential&) override {
    return kNotALink;
  }
  protocol::ReadReply Read(const FileHandle&, uint64_t, std::span<std::byte>, const OpenState*,
                           const Credential&) override {
    return {.eof = true, .attributes = {}};
  }
  protocol::CreateReply Create(const FileHandle&, std::string_view, protocol::CreateMode,
                               const SetAttributes&, const Credential&) override {
    return kReadOnly;
  }
  protocol::CreateReply MakeDirectory(const FileHandle&, std::string_view, const SetAttributes&,
                                      const Credential&) override {
    return kReadOnly;
  }
  protocol::CreateReply MakeSymlink(const FileHandle&, std::string_view, std::string_view,
                                    const SetAttributes&, const Credential&) override {
    return kReadOnly;
  }
  protocol::LinkReply Link(const FileHandle&, const FileHandle&, std::string_view,
                           const Credential&) override {
    return kReadOnly;
  }
  protocol::RenameReply Rename(const FileHandle&, std::string_view, const FileHandle&,
                               std::string_view, const std::optional<protocol::KnownObject>&,
                               const Credential&) override {
    return kReadOnly;
  }
  protocol::RemoveReply Remove(const FileHandle&, std::string_view,
                               const std::optional<protocol::KnownObject>&,
                               const Credential&) override {
    return kReadOnly;
  }
  protocol::RemoveReply RemoveDirectory(const FileHandle&, std::string_view,
                                        const std::optional<protocol::KnownObject>&,
                                        const Credential&) override {
    return kReadOnly;
  }
  protocol::FileChangeReply SetAttributesOf(const FileHandle&, const SetAttributes&,
                                            const Credential&) override {
    return kReadOnly;
  }
  protocol::WriteReply Write(const FileHandle&, uint64_t, std::span<const std::byte>,
                             const OpenState*, const Credential&) override {
    return kReadOnly;
  }

  uint64_t rpcs_sent() const override { return calls_; }
  void Shutdown() override {}

 private:
  const SyntheticTree tree_;
  std::atomic<uint64_t> calls_{0};
};

}  // namespace

std::unique_ptr<protocol::Protocol> MakeSyntheticProtocol(const SyntheticTree& tree) {
  return std::make_unique<SyntheticProtocol>(tree);
}

}  // namespace nfswalk::bench
