// scripted_server: a server of one small file whose WRITEs, COMMITs and SETATTRs stay in flight
// until a script executes and answers them, in any order. All other calls are answered at once.
//
// Thread safety: none, but for calls about other files.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_DATA_SCRIPTED_SERVER_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_DATA_SCRIPTED_SERVER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tests/fixtures/memory_server.h"
#include "tests/fixtures/wrapped_protocol.h"
#include "tests/unit/nfsclient/data/write_expectations.h"

namespace nfswalk::data {

class ScriptedServer final : public fixtures::WrappedProtocol<ScriptedServer> {
 public:
  using Bytes = WriteExpectations::Bytes;
  enum class Kind { kWrite, kCommit, kSetSize };
  enum class How {
    kPlain,
    kFileSync,      // a WRITE is stable though it need not be
    kNoAttributes,  // without post-op attributes
    kShort,         // a WRITE of the first byte
    kNoSpace,       // refused, not executed
    kEnded,         // the connection ends, and the call with it, which is not executed
  };
  struct Call {
    Kind kind;
    size_t offset = 0;
    Bytes data = {};
    std::span<const std::byte> sent = {};  // what the client keeps for it
    size_t size = 0;  // to be set
    protocol::Stability stability = protocol::Stability::kUnstable;
    bool is_executed = false, is_answered = false, is_taken = false;
    // The reply.
    uint64_t changes = 0;  // by others, when it was executed
    std::errc error = {};
    size_t count_bytes = 0;
    uint64_t verifier = 0;
    protocol::WeakCacheConsistency file = {};

    size_t end() const { return offset + data.size(); }
  };

  // `memory`, of which it is a part, has the attributes.
  ScriptedServer(std::unique_ptr<Protocol> inner, fixtures::MemoryServer& memory)
      : WrappedProtocol(std::move(inner)), memory_(memory) {}

  // Begins anew with another file. `expectations` outlives its calls.
  void Serve(uint64_t file, const Bytes& content, bool sends_before,
             WriteExpectations& expectations);

  const Bytes& current() const { return current_; }
  const Bytes& stable() const { return stable_; }
  // Calls that are not answered, in the order in which they were sent.
  std::vector<Call*> InFlight() const;
  // Whether the client has taken all replies, and the last of them is from after the last change by
  // another client.
  bool HasShownAll() const;
  // Whether a refused WRITE was told to the client since this was called last.
  bool TakeRefusal() { return std::exchange(is_refusal_told_, false); }

  // --- the script ---
  // While it is on, a call that the client waits for is answered.
  void AnswerWaits(bool on) { answers_waits_ = on; }
  void Execute(Call& call, How how);
  void Answer(Call& call, How how);
  // Loses what is not stable. Calls that were executed and not answered are sent again.
  void Restart();
  void ChangeByOther(size_t at, std::byte value);
  // Runs `meanwhile` during the next READ, after it was executed, or before.
  void DuringRead(std::function<void()> meanwhile, bool after_execution) {
    during_read_ = std::move(meanwhile);
    after_execution_ = after_execution;
  }
  // Returns whether the next READ has not come yet, and forgets what was to be run.
  bool CancelDuringRead() { return std::exchange(during_read_, nullptr) != nullptr; }

  // --- Protocol ---
  protocol::AttributesReply GetAttributes(const FileHandle& file, const Credential& who) override;
  protocol::ReadReply Read(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                           const protocol::OpenState*, const Credential&) override;
  protocol::WriteInFlight StartWrite(const FileHandle& file, uint64_t offset_bytes,
                                     std::span<const std::byte> data, protocol::Stability stability,
                                     const protocol::OpenState*, const Credential&) override;
  protocol::CommitInFlight StartCommit(const FileHandle& file, const Credential&) override;
  protocol::FileChangeInFlight StartSetAttributes(const FileHandle& file,
                                                  const SetAttributes& attributes,
                                                  const Credential&) override;

 private:
  template <class Reply>
  class Waiting;

  std::shared_ptr<Call> Add(Call call);
  // Returns whether the call is answered.
  bool Wait(Call& call);
  void ExecuteWrite(Call& call, How how);
  void Show(const protocol::OptionalAttributes& attributes, uint64_t changes);
  // Gives the file's attributes the size of its content, and new times.
  void Touch();

  fixtures::MemoryServer& memory_;
  uint64_t file_ = 0;
  WriteExpectations* expectations_ = nullptr;
  Bytes current_, stable_;
  std::vector<std::shared_ptr<Call>> calls_;
  uint64_t verifier_ = 1;
  bool sends_before_ = true, answers_waits_ = false;
  uint64_t changes_ = 0, shown_changes_ = 0;  // by others; of these, what replies have shown
  bool is_refusal_told_ = false, after_execution_ = false;
  std::function<void()> during_read_;
};

}  // namespace nfswalk::data

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_DATA_SCRIPTED_SERVER_H_
