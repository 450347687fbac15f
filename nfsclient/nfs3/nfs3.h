// nfs3: an export of an NFSv3 server (RFC 1813), over TCP with AUTH_SYS or AUTH_NONE.
//
// Calls: protocol.h. Retries and timeouts: rpc/retry.h. Connections: rpc/connection.h. Lost replies
// of non-idempotent calls: the table in lost_reply.h.
//
// Thread safety: all functions. The connections live in the network namespace of the thread that
// called ConnectNfs3().
#ifndef NFSWALK_NFSCLIENT_NFS3_NFS3_H_
#define NFSWALK_NFSCLIENT_NFS3_NFS3_H_

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>

#include "nfsclient/nfs3/decode.h"
#include "nfsclient/nfs3/mount3.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/protocol/transport_options.h"
#include "nfsclient/rpc/caller.h"

namespace nfswalk::protocol {

class Nfs3 final : public Protocol {
 public:
  // Resolves the host, finds the ports, pings the NFS service and mounts the export, all within
  // options.mount_timeout_ms, or by `deadline`. Errors: those of server_contact.h, mount3.h and
  // failed_call.h.
  static std::expected<std::unique_ptr<Protocol>, ConnectError> ConnectNfs3(
      const ServerAddress& server, const TransportOptions& options,
      std::optional<CallDeadline::Clock::time_point> deadline = {});
  // Shuts down, sends UMNT (blocks for one second at most) and closes the connections.
  // Preconditions: no call is in progress.
  ~Nfs3() override;

  CallDeadline::Clock::time_point NewDeadline() const override { return caller_->NewDeadline(); }
  RootReply GetRoot(const Credential& credential) override;
  AttributesReply GetAttributes(const FileHandle& file, const Credential& credential) override;
  LookupReply Lookup(const FileHandle& directory, std::string_view name,
                     const Credential& credential) override;
  void LookupBatch(std::span<const LookupQuestion> questions, const Credential& credential,
                      std::span<LookupPathReply> replies) override;
  AccessReply Access(const FileHandle& file, const Credential& credential) override;
  SpaceReply GetSpace(const FileHandle& file, const Credential& credential) override;
  ReadLinkReply ReadLink(const FileHandle& link, const Credential& credential) override;
  ReadReply Read(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                 const OpenState* state, const Credential& credential) override;
  ReadReply ReadPieces(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                       size_t piece_bytes, const OpenState* state,
                       const Credential& credential) override;
  WriteReply Write(const FileHandle& file, uint64_t offset_bytes, std::span<const std::byte> data,
                   const OpenState* state, const Credential& credential) override;
  ReadInFlight StartRead(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                         const OpenState* state, const Credential& credential) override;
  WriteInFlight StartWrite(const FileHandle& file, uint64_t offset_bytes,
                           std::span<const std::byte> data, Stability stability,
                           const OpenState* state, const Credential& credential) override;
  CommitReply Commit(const FileHandle& file, const Credential& credential) override;
  CommitInFlight StartCommit(const FileHandle& file, const Credential& credential) override;
  ReadDirReply ReadDir(const FileHandle& directory, ReadDirPosition position, bool plus,
                       const Credential& credential) override;
  void ReadDirBatch(std::span<const ListQuestion> questions, const Credential& credential,
                       std::span<ReadDirReply> replies) override;

  CreateReply Create(const FileHandle& directory, std::string_view name, CreateMode how,
                     const SetAttributes& attributes, const Credential& credential) override;
  CreateReply MakeDirectory(const FileHandle& directory, std::string_view name,
                            const SetAttributes& attributes, const Credential& credential) override;
  CreateReply MakeSymlink(const FileHandle& directory, std::string_view name,
                          std::string_view target, const SetAttributes& attributes,
                          const Credential& credential) override;
  CreateReply MakeNode(const FileHandle& directory, std::string_view name, FileType type,
                       Device device, const SetAttributes& attributes,
                       const Credential& credential) override;
  LinkReply Link(const FileHandle& file, const FileHandle& directory, std::string_view name,
                 const Credential& credential) override;
  RenameReply Rename(const FileHandle& from_directory, std::string_view from_name,
                     const FileHandle& to_directory, std::string_view to_name,
                     const std::optional<KnownObject>& known,
                     const Credential& credential) override;
  RemoveReply Remove(const FileHandle& directory, std::string_view name,
                     const std::optional<KnownObject>& known,
                     const Credential& credential) override {
    return RemoveObject(false, directory, name, known, credential);
  }
  RemoveReply RemoveDirectory(const FileHandle& directory, std::string_view name,
                              const std::optional<KnownObject>& known,
                              const Credential& credential) override {
    return RemoveObject(true, directory, name, known, credential);
  }
  FileChangeReply SetAttributesOf(const FileHandle& file, const SetAttributes& attributes,
                                  const Credential& credential) override;
  FileChangeInFlight StartSetAttributes(const FileHandle& file, const SetAttributes& attributes,
                                        const Credential& credential) override;

  // POSIX ones, by NFSACL, a program beside version 3.
  bool has_acl(AclKind kind) const override {
    return kind != AclKind::kNfs4 && !acl_program_is_missing_.load();
  }
  XattrReply GetAcl(const FileHandle& file, AclKind kind, const Credential& credential) override;
  FileChangeReply SetAcl(const FileHandle& file, AclKind kind, std::string_view acl,
                         const Credential& credential) override;

  // Includes the NULL call of mounting, but no calls to the portmapper and to MOUNT.
  uint64_t rpcs_sent() const override { return caller_->calls_sent(); }
  TransportStats transport_stats() const override;
  void Shutdown() override { caller_->Shutdown(); }

 private:
  using Budget = rpc::Caller::Budget;

  Nfs3(MountPoint mount_point, std::shared_ptr<rpc::ServerLocator> locator, const FileHandle& root,
       std::unique_ptr<rpc::Caller> caller, rpc::Call::Clock::time_point mount_deadline);

  // Sends a call that is idempotent.
  template <typename Reply>
  Reply Send(Budget& budget, const rpc::Request& request, const Credential& credential) {
    return caller_->Call<Reply>(credential, budget, request, kDecode);
  }
  // Sends a call that is not, as Caller::CallOnce().
  template <typename Reply, typename FindOutcome>
  Reply SendOnce(Budget& budget, const rpc::Request& request, const Credential& credential,
                 std::errc error_if_executed, FindOutcome find_outcome) {
    return caller_->CallOnce<Reply>(credential, budget, request, kDecode, error_if_executed,
                                    find_outcome);
  }

  AttributesReply GetAttributesWithin(Budget& budget, const FileHandle& file,
                                      const Credential& credential);
  LookupReply LookupWithin(Budget& budget, const FileHandle& directory, std::string_view name,
                           const Credential& credential);
  CreateReply FinishExclusive(CreateReply created, Budget& budget, const FileHandle& directory,
                              std::string_view name, SetAttributes attributes,
                              const Credential& credential);
  RemoveReply RemoveObject(bool is_directory, const FileHandle& directory, std::string_view name,
                           const std::optional<KnownObject>& known, const Credential& credential);
  LimitsReply GetLimits(Budget& budget, const Credential& credential);
  AclsReply GetAcls(Budget& budget, const FileHandle& file, const Credential& credential);
  ReadDirReply ReadDirPlus(const FileHandle& directory, ReadDirPosition position,
                           const Credential& credential);
  ReadDirReply ReadDirPlain(const FileHandle& directory, ReadDirPosition position,
                            const Credential& credential);

  MountPoint mount_point_;
  const std::shared_ptr<rpc::ServerLocator> locator_;
  const FileHandle root_;
  const std::unique_ptr<rpc::Caller> caller_;
  const rpc::Call::Clock::time_point mount_deadline_;
  std::atomic<bool> acl_program_is_missing_{false};
  // Set once the server answered READDIRPLUS with NFS3ERR_NOTSUPP.
  std::atomic<bool> no_readdirplus_{false};
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS3_NFS3_H_
