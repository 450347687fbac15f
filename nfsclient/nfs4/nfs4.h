// nfs4: an export of a server of NFSv4.0 (RFC 7530), 4.1 (RFC 8881) or 4.2 (RFC 7862), over TCP
// with AUTH_SYS or AUTH_NONE.
//
// Calls: protocol.h; most are one COMPOUND. Retries and timeouts: rpc/retry.h. Connections:
// rpc/connection.h. Lost replies: lost_reply.h. Open files and the lease: state/open_files.h.
// File handles are assumed persistent: NFS4ERR_FHEXPIRED is ESTALE, and the walk looks the name up
// again. Delegations, of files for reading, are requested with the option delegs:
// state/delegations.h. The server's calls: state/callbacks.h.
//
// Thread safety: all functions. The connections live in the network namespace of the thread that
// called ConnectNfs4().
#ifndef NFSWALK_NFSCLIENT_NFS4_NFS4_H_
#define NFSWALK_NFSCLIENT_NFS4_NFS4_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/operations_limit.h"
#include "nfsclient/nfs4/owner_names.h"
#include "nfsclient/nfs4/state/open_files.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/protocol/transport_options.h"
#include "nfsclient/rpc/caller.h"

namespace nfswalk::protocol {

class Nfs4 final : public Protocol {
 public:
  // maxcount of READDIR. 10,000 entries take 6 to 8 calls; more is not faster (nfs-ganesha 4.3).
  static constexpr uint32_t kReadDirBytes = 256 * 1024;

  // Resolves the host, connects (default port 2049), pings the NFS service and looks up the export
  // from the server's root, all within options.mount_timeout_ms, or by `deadline`; by the minor
  // version that `server` names, else 4.0. Errors: those of server_contact.h and failed_call.h, the
  // server's for the export's path, and protocol_not_supported or another one that refuses the
  // minor version.
  static std::expected<std::unique_ptr<Protocol>, ConnectError> ConnectNfs4(
      const ServerAddress& server, const TransportOptions& options,
      std::optional<CallDeadline::Clock::time_point> deadline = {});
  // Shuts down. Preconditions: no call is in progress.
  ~Nfs4() override;

  CallDeadline::Clock::time_point NewDeadline() const override { return caller_->NewDeadline(); }
  RootReply GetRoot(const Credential& credential) override;
  AttributesReply GetAttributes(const FileHandle& file, const Credential& credential) override;
  LookupReply Lookup(const FileHandle& directory, std::string_view name,
                     const Credential& credential) override;
  LookupPathReply LookupPath(const FileHandle& directory, std::span<const std::string_view> names,
                             const Credential& credential) override;
  bool can_lookup_paths() const override { return true; }
  void LookupBatch(std::span<const LookupQuestion> questions, const Credential& credential,
                      std::span<LookupPathReply> replies) override;
  AccessReply Access(const FileHandle& file, const Credential& credential) override;
  SpaceReply GetSpace(const FileHandle& file, const Credential& credential) override;
  ReadLinkReply ReadLink(const FileHandle& link, const Credential& credential) override;
  OpenReply Open(const FileHandle& directory, std::string_view name, const FileHandle& file,
                 bool read, bool write, const Credential& credential, AskDelegation ask) override;
  bool delegates_directories() const override {
    return !delegate_is_missing_.load() && open_files_->wants_directory();
  }
  DelegateReply Delegate(const FileHandle& directory, const Credential& credential) override;
  uint64_t delegations_until_ns() const override { return open_files_->delegations_until_ns(); }
  bool sends_open() const override { return true; }
  bool can_open_by_handle() const override { return open_files_->can_open_by_handle(); }
  bool has_locks() const override { return true; }
  LockReply Lock(const OpenState& open, uint64_t owner, const RangeLock& wanted) override;
  std::errc Unlock(const OpenState& open, uint64_t owner, ByteRange range) override;
  std::errc ReleaseLocks(const OpenState& open, uint64_t owner) override;
  LockReply TestLock(const OpenState& open, uint64_t owner, const RangeLock& wanted) override;
  std::errc ConfirmLocks(const OpenState& open) override;
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
  SeekReply Seek(const FileHandle& file, uint64_t offset_bytes, Content content,
                 const OpenState* state, const Credential& credential) override;
  bool can_allocate() const override {
    return has_operations_of_4_2() && !allocate_is_missing_.load();
  }
  FileChangeInFlight StartAllocate(const FileHandle& file, const Allocation& allocation,
                                   const OpenState* state, const Credential& credential) override;
  bool can_copy() const override { return has_operations_of_4_2() && !copy_is_missing_.load(); }
  FileChangeInFlight StartCopy(const FileHandle& file, const OpenState* state,
                               const FileHandle& source, const OpenState* source_state,
                               const CopiedRange& range, const Credential& credential) override;
  bool has_xattrs() const override {
    return has_operations_of_4_2() && !xattrs_are_missing_.load();
  }
  XattrReply GetXattr(const FileHandle& file, std::string_view name,
                      const Credential& credential) override;
  XattrNamesReply ListXattrs(const FileHandle& file, const Credential& credential) override;
  FileChangeReply SetXattr(const FileHandle& file, std::string_view name, std::string_view value,
                           XattrMode how, const Credential& credential) override;
  FileChangeReply RemoveXattr(const FileHandle& file, std::string_view name,
                              const Credential& credential) override;
  bool has_acl(AclKind kind) const override { return kind == AclKind::kNfs4; }
  XattrReply GetAcl(const FileHandle& file, AclKind kind, const Credential& credential) override;
  FileChangeReply SetAcl(const FileHandle& file, AclKind kind, std::string_view acl,
                         const Credential& credential) override;
  ReadDirReply ReadDir(const FileHandle& directory, ReadDirPosition position, bool plus,
                       const Credential& credential) override;
  void ReadDirBatch(std::span<const ListQuestion> questions, const Credential& credential,
                       std::span<ReadDirReply> replies) override;

  CreateOpenReply CreateOpen(const FileHandle& directory, std::string_view name, CreateMode how,
                             const SetAttributes& attributes, bool read, bool write,
                             const Credential& credential) override;
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

  // Includes the NULL calls of new connections.
  uint64_t rpcs_sent() const override { return caller_->calls_sent(); }
  TransportStats transport_stats() const override;
  void Shutdown() override;

 private:
  using Budget = rpc::Caller::Budget;

  Nfs4(std::unique_ptr<rpc::Caller> caller, CallDeadline::Clock::time_point mount_deadline);
  std::expected<void, ConnectError> Begin(const ServerAddress& server);

  // Sends an idempotent COMPOUND. `decode` as in compound.h.
  template <typename Reply, typename Decode>
  Reply Call(Compound& compound, const Credential& credential, Decode decode) {
    Budget budget = caller_->NewBudget();
    return CallCompound<Reply>(*caller_, compound, credential, budget, decode);
  }
  // Sends a COMPOUND that is not, as Caller::CallOnce(). A server that refuses it since a file is
  // open (NFS4ERR_FILE_OPEN, EBUSY), whose CLOSE may be on its way, is asked again for a second and
  // a half, as by nfs4_async_handle_exception().
  template <typename Reply, typename Decode, typename FindOutcome>
  Reply CallOnce(Compound& compound, const Credential& credential, Budget& budget, Decode decode,
                 std::errc error_if_executed, FindOutcome find_outcome) {
    constexpr std::chrono::milliseconds kLastPause{800};
    for (;;) {
      Reply reply =
          caller_->CallOnce<Reply>(credential, budget, compound.Encode(), DecodeCompound(decode),
                                   error_if_executed, find_outcome);
      const bool is_open = reply.error == std::errc::device_or_resource_busy;
      if (!is_open || budget.last_pause() >= kLastPause) return reply;
      const std::errc paused = caller_->PauseForJukebox(budget);
      if (paused == std::errc::operation_canceled) reply.error = paused;
      if (paused != std::errc{}) return reply;
    }
  }

  bool has_operations_of_4_2() const { return caller_->minor_version() >= 2; }

  AttributesReply GetAttributesWithin(Budget& budget, const FileHandle& file,
                                      const Credential& credential);
  LookupReply LookupWithin(Budget& budget, const FileHandle& directory, std::string_view name,
                           const Credential& credential);
  size_t LookupSome(Budget& budget, const FileHandle& directory,
                    std::span<const std::string_view> names, const Credential& credential,
                    LookupPathReply& reply);
  template <typename Build>
  CreateReply CreateObject(const FileHandle& directory, const Credential& credential, Build build);
  CreateReply FinishExclusive(CreateReply created, uint64_t attributes_set,
                              const FileHandle& directory, std::string_view name,
                              SetAttributes attributes, const Credential& credential);
  void NoteXattrStatus(int status);
  RemoveReply RemoveObject(bool is_directory, const FileHandle& directory, std::string_view name,
                           const std::optional<KnownObject>& known, const Credential& credential);

  FileHandle root_;  // set by Begin()
  const std::unique_ptr<rpc::Caller> caller_;
  const CallDeadline::Clock::time_point mount_deadline_;
  const OwnerNames owner_names_;
  const std::shared_ptr<OpenFiles> open_files_;
  OperationsLimit operations_limit_;
  // Set once the server refused a numeric owner (NFS4ERR_BADOWNER).
  std::atomic<bool> owners_as_names_{false};
  // Set once the server did not know them (NFS4ERR_OP_ILLEGAL). NFS4ERR_NOTSUPP is of a file
  // system.
  std::atomic<bool> seek_is_missing_{false};
  std::atomic<bool> allocate_is_missing_{false};
  std::atomic<bool> xattrs_are_missing_{false};
  std::atomic<bool> delegate_is_missing_{false};  // or not supported
  // Set where it was not supported as well, or not without a callback: a mount of several file
  // systems asks no more of any.
  std::atomic<bool> copy_is_missing_{false};
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_NFS4_H_
