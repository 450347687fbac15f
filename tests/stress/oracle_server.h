// oracle_server: a Protocol over a file tree in memory that records its own history, with ticks
// taken scope its critical section. It enforces modes, keeps some removed files for a while (as if
// open: link count 0) and returns ESTALE for others at once.
//
// Thread safety: all functions but history(), which requires that no call is in flight.
#ifndef NFSWALK_TESTS_STRESS_ORACLE_SERVER_H_
#define NFSWALK_TESTS_STRESS_ORACLE_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "nfsclient/protocol/protocol.h"
#include "tests/stress/oracle_delegations.h"
#include "tests/stress/oracle_history.h"

namespace nfswalk::stress {

class OracleServer : public protocol::Protocol {
 public:
  using Credential = sunrpc_auth::Credential;
  using FileHandle = protocol::FileHandle;
  static constexpr uint32_t kSuperuser = 0;  // the uid without permission checks

  struct Options {
    // Runs on the caller's thread when a reply is complete but not yet delivered.
    std::function<void()> on_reply;
    // Files are opened by name, and delegated to whoever opens them to read; directories to whoever
    // asks.
    bool delegates = false;
  };

  // `clock` must outlive the server.
  OracleServer(TickClock& clock, Options options);

  History& history() { return history_; }
  // Returns the change that this thread's last call made, or null, and forgets it.
  static Change* TakeChange();

  // Recalls the file at `path`, then changes it as another client would; the change has returned
  // before the next one is made. Does nothing where there is no such file.
  void ChangeByOther(std::string_view path, const protocol::SetAttributes& wanted);
  // As ChangeByOther(), a rename within the directory at `path`.
  void RenameByOther(std::string_view path, std::string_view from, std::string_view to);
  // Ends the delegations that are of no use.
  void EndIdle();
  // Takes back all delegations.
  void RecallAll();
  // Recalls so far. Preconditions: no call is in flight.
  uint64_t recalls() const { return delegations_.recalled(); }

  protocol::RootReply GetRoot(const Credential&) override;
  protocol::AttributesReply GetAttributes(const FileHandle& file, const Credential&) override;
  protocol::LookupReply Lookup(const FileHandle& directory, std::string_view name,
                               const Credential& who) override;
  protocol::AccessReply Access(const FileHandle& file, const Credential& who) override;
  protocol::ReadLinkReply ReadLink(const FileHandle& link, const Credential&) override;
  protocol::ReadDirReply ReadDir(const FileHandle& directory, protocol::ReadDirPosition, bool plus,
                                 const Credential& who) override;
  protocol::CreateReply Create(const FileHandle& directory, std::string_view name,
                               protocol::CreateMode, const protocol::SetAttributes&,
                               const Credential&) override;
  protocol::CreateReply MakeDirectory(const FileHandle& directory, std::string_view name,
                                      const protocol::SetAttributes&, const Credential&) override;
  protocol::CreateReply MakeSymlink(const FileHandle& directory, std::string_view name,
                                    std::string_view target, const protocol::SetAttributes&,
                                    const Credential&) override;
  protocol::LinkReply Link(const FileHandle& file, const FileHandle& directory,
                           std::string_view name, const Credential&) override;
  protocol::RenameReply Rename(const FileHandle& from_directory, std::string_view from_name,
                               const FileHandle& to_directory, std::string_view to_name,
                               const std::optional<protocol::KnownObject>&,
                               const Credential&) override;
  protocol::RemoveReply Remove(const FileHandle& directory, std::string_view name,
                               const std::optional<protocol::KnownObject>&,
                               const Credential&) override;
  protocol::RemoveReply RemoveDirectory(const FileHandle& directory, std::string_view name,
                                        const std::optional<protocol::KnownObject>&,
                                        const Credential&) override;
  protocol::FileChangeReply SetAttributesOf(const FileHandle& file, const protocol::SetAttributes&,
                                            const Credential&) override;
  protocol::ReadReply Read(const FileHandle&, uint64_t, std::span<std::byte>,
                           const protocol::OpenState*, const Credential&) override;
  protocol::WriteReply Write(const FileHandle&, uint64_t, std::span<const std::byte>,
                             const protocol::OpenState*, const Credential&) override;
  protocol::OpenReply Open(const FileHandle& directory, std::string_view name,
                           const FileHandle& file, bool read, bool write, const Credential& who,
                           protocol::AskDelegation ask) override;
  bool sends_open() const override { return options_.delegates; }
  bool delegates_directories() const override { return options_.delegates; }
  protocol::DelegateReply Delegate(const FileHandle& directory, const Credential&) override;
  uint64_t delegations_until_ns() const override { return ~uint64_t{0}; }
  uint64_t rpcs_sent() const override { return rpcs_; }
  void Shutdown() override {}

 private:
  // One call: counts it, holds the mutex, and then runs on_reply.
  class CallScope {
   public:
    explicit CallScope(OracleServer& server);
    ~CallScope();

   private:
    OracleServer& server_;
  };

  // Guarded by the mutex, all of these.
  const Attributes& Now(NodeId node) const { return history_.at(node).attributes.now(); }
  // Returns kNothing for a stale handle.
  NodeId NodeOf(const FileHandle& handle) const;
  Change& Begin(std::string what);
  Attributes Touched(const Attributes& attributes);
  void Touch(NodeId node, const Change& change);
  protocol::WeakCacheConsistency Before(NodeId node) const;
  void After(protocol::WeakCacheConsistency& wcc, NodeId node) const;
  bool IsEmpty(NodeId directory) const;
  bool IsBelow(NodeId node, NodeId ancestor) const;
  void DropName(NodeId directory, std::string_view name, NodeId node, const Change& change);
  std::errc CheckRename(NodeId from, NodeId moved, NodeId to, NodeId replaced) const;
  Attributes SetNow(NodeId node, const protocol::SetAttributes& wanted, const Change& change);
  // Returns kNothing unless it leads to an object of this type, through directories alone.
  NodeId NodeAt(std::string_view path, FileType type) const;
  // Moves a name that CheckRename() found right.
  void MoveName(NodeId from, std::string_view from_name, NodeId moved, NodeId to,
                std::string_view to_name, NodeId replaced, const Change& change);

  protocol::CreateReply CreateNode(const FileHandle& directory, std::string_view name,
                                   FileType type, std::string_view target,
                                   const protocol::SetAttributes& attributes);
  protocol::RemoveReply RemoveNode(const FileHandle& directory, std::string_view name,
                                   bool is_directory);

  TickClock& clock_;
  const Options options_;
  std::mutex mutex_;
  History history_;
  OracleDelegations delegations_;
  int64_t seconds_ = 1'000'000;  // advances with every change
  std::atomic<uint64_t> rpcs_{0};
};

}  // namespace nfswalk::stress

#endif  // NFSWALK_TESTS_STRESS_ORACLE_SERVER_H_
