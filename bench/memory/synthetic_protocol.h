// synthetic_protocol: a Protocol that answers for a SyntheticTree without a server: nothing is
// sent, nothing is stored, and nothing can be changed.
//
// Everybody may do everything. Listings come whole, with attributes and handles. Thread safety: as
// Protocol.
#ifndef NFSWALK_BENCH_MEMORY_SYNTHETIC_PROTOCOL_H_
#define NFSWALK_BENCH_MEMORY_SYNTHETIC_PROTOCOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "bench/memory/synthetic_tree.h"
#include "nfsclient/protocol/protocol.h"

namespace nfswalk::bench {

class SyntheticProtocol final : public protocol::Protocol {
 public:
  using Credential = protocol::Credential;
  using FileHandle = protocol::FileHandle;
  using SetAttributes = protocol::SetAttributes;
  static constexpr uint32_t kFileMode = 0644;

  explicit SyntheticProtocol(const SyntheticTree& tree) : tree_(tree) {}

  protocol::RootReply GetRoot(const Credential&) override;
  protocol::AttributesReply GetAttributes(const FileHandle& file, const Credential&) override;
  protocol::LookupReply Lookup(const FileHandle& directory, std::string_view name,
                               const Credential&) override;
  protocol::AccessReply Access(const FileHandle& file, const Credential&) override;
  protocol::ReadDirReply ReadDir(const FileHandle& directory, protocol::ReadDirPosition, bool,
                                 const Credential&) override;

  protocol::ReadLinkReply ReadLink(const FileHandle&, const Credential&) override;
  protocol::ReadReply Read(const FileHandle&, uint64_t, std::span<std::byte>,
                           const protocol::OpenState*, const Credential&) override;
  protocol::WriteReply Write(const FileHandle&, uint64_t, std::span<const std::byte>,
                             const protocol::OpenState*, const Credential&) override;
  protocol::CreateReply Create(const FileHandle&, std::string_view, protocol::CreateMode,
                               const SetAttributes&, const Credential&) override;
  protocol::CreateReply MakeDirectory(const FileHandle&, std::string_view, const SetAttributes&,
                                      const Credential&) override;
  protocol::CreateReply MakeSymlink(const FileHandle&, std::string_view, std::string_view,
                                    const SetAttributes&, const Credential&) override;
  protocol::LinkReply Link(const FileHandle&, const FileHandle&, std::string_view,
                           const Credential&) override;
  protocol::RenameReply Rename(const FileHandle&, std::string_view, const FileHandle&,
                               std::string_view, const Credential&) override;
  protocol::RemoveReply Remove(const FileHandle&, std::string_view, const Credential&) override;
  protocol::RemoveReply RemoveDirectory(const FileHandle&, std::string_view,
                                        const Credential&) override;
  protocol::SetAttributesReply SetAttributesOf(const FileHandle&, const SetAttributes&,
                                               const Credential&) override;

  uint64_t rpcs_sent() const override { return calls_; }
  void Shutdown() override {}

 private:
  const SyntheticTree tree_;
  std::atomic<uint64_t> calls_{0};
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEMORY_SYNTHETIC_PROTOCOL_H_
