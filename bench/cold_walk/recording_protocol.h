// recording_protocol: hands every call on to a Protocol and writes down those that look something
// up, so that the same ones can be made again without a client around them (raw_calls.h).
//
// Thread safety: as Protocol; the record itself is read when no call is inside.
#ifndef NFSWALK_BENCH_COLD_WALK_RECORDING_PROTOCOL_H_
#define NFSWALK_BENCH_COLD_WALK_RECORDING_PROTOCOL_H_

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/protocol/protocol.h"

namespace nfswalk::bench {

struct RecordedCall {
  enum class Kind : uint8_t { kGetAttributes, kLookup, kLookupPath, kAccess, kReadDir };
  Kind kind = Kind::kGetAttributes;
  protocol::FileHandle handle;
  std::vector<std::string> names = {};      // kLookup: one
  protocol::ReadDirPosition position = {};  // kReadDir
};
using Record = std::vector<RecordedCall>;

class RecordingProtocol final : public protocol::Protocol {
 public:
  using Credential = protocol::Credential;
  using FileHandle = protocol::FileHandle;

  // `record` must outlive this.
  RecordingProtocol(std::unique_ptr<Protocol> inner, Record& record)
      : inner_(std::move(inner)), record_(record) {}

  protocol::RootReply GetRoot(const Credential& credential) override;
  protocol::AttributesReply GetAttributes(const FileHandle& file,
                                          const Credential& credential) override;
  protocol::LookupReply Lookup(const FileHandle& directory, std::string_view name,
                               const Credential& credential) override;
  protocol::LookupPathReply LookupPath(const FileHandle& directory,
                                       std::span<const std::string_view> names,
                                       const Credential& credential) override;
  bool can_lookup_paths() const override { return inner_->can_lookup_paths(); }
  protocol::AccessReply Access(const FileHandle& file, const Credential& credential) override;
  protocol::ReadLinkReply ReadLink(const FileHandle& link, const Credential& credential) override;
  protocol::OpenReply Open(const FileHandle& directory, std::string_view name,
                           const FileHandle& file, bool read, bool write,
                           const Credential& credential) override;
  protocol::ReadReply Read(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                           const protocol::OpenState* state, const Credential& credential) override;
  protocol::WriteReply Write(const FileHandle& file, uint64_t offset_bytes,
                             std::span<const std::byte> data, const protocol::OpenState* state,
                             const Credential& credential) override;
  protocol::ReadDirReply ReadDir(const FileHandle& directory, protocol::ReadDirPosition position,
                                 bool plus, const Credential& credential) override;
  protocol::CreateReply Create(const FileHandle& directory, std::string_view name,
                               protocol::CreateMode how, const protocol::SetAttributes& attributes,
                               const Credential& credential) override;
  protocol::CreateReply MakeDirectory(const FileHandle& directory, std::string_view name,
                                      const protocol::SetAttributes& attributes,
                                      const Credential& credential) override;
  protocol::CreateReply MakeSymlink(const FileHandle& directory, std::string_view name,
                                    std::string_view target,
                                    const protocol::SetAttributes& attributes,
                                    const Credential& credential) override;
  protocol::LinkReply Link(const FileHandle& file, const FileHandle& directory,
                           std::string_view name, const Credential& credential) override;
  protocol::RenameReply Rename(const FileHandle& from_directory, std::string_view from_name,
                               const FileHandle& to_directory, std::string_view to_name,
                               const Credential& credential) override;
  protocol::RemoveReply Remove(const FileHandle& directory, std::string_view name,
                               const Credential& credential) override;
  protocol::RemoveReply RemoveDirectory(const FileHandle& directory, std::string_view name,
                                        const Credential& credential) override;
  protocol::SetAttributesReply SetAttributesOf(const FileHandle& file,
                                               const protocol::SetAttributes& attributes,
                                               const Credential& credential) override;
  uint64_t rpcs_sent() const override { return inner_->rpcs_sent(); }
  void Shutdown() override { inner_->Shutdown(); }

 private:
  void Note(RecordedCall call);

  const std::unique_ptr<Protocol> inner_;
  std::mutex mutex_;
  Record& record_;  // guarded by mutex_
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_RECORDING_PROTOCOL_H_
