// checked_protocol: a Protocol whose replies are held to reply_invariants.h, and whose calls to
// their deadline.
//
// Thread safety: as Protocol.
#ifndef NFSWALK_TESTS_FUZZ_WIRE_CHECKED_PROTOCOL_H_
#define NFSWALK_TESTS_FUZZ_WIRE_CHECKED_PROTOCOL_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "tests/fixtures/wrapped_protocol.h"
#include "tests/fuzz/wire/reply_invariants.h"

namespace nfswalk::fuzz {

// Ends the process if there is a violation.
void Require(std::string_view procedure, protocol::Violation violation);

class CheckedProtocol : public fixtures::WrappedProtocol<CheckedProtocol> {
 public:
  // Time by which a call may miss its deadline: each reading of the clock advances the clock.
  static constexpr std::chrono::milliseconds kSlack{100};

  CheckedProtocol(std::unique_ptr<Protocol> inner, size_t handle_bytes_max)
      : WrappedProtocol(std::move(inner)), handle_bytes_max_(handle_bytes_max) {}

  protocol::RootReply GetRoot(const Credential& who) override {
    auto reply = inner_->GetRoot(who);
    Require("root", protocol::ViolationIn(reply, handle_bytes_max_));
    return reply;
  }
  protocol::ReadReply Read(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                           const protocol::OpenState* state, const Credential& who) override {
    const auto reply =
        Checked("READ", [&] { return inner_->Read(file, offset_bytes, into, state, who); });
    Require("READ", protocol::ViolationIn(reply, into.size()));
    return reply;
  }
  protocol::WriteReply Write(const FileHandle& file, uint64_t offset_bytes,
                             std::span<const std::byte> data, const protocol::OpenState* state,
                             const Credential& who) override {
    const auto reply =
        Checked("WRITE", [&] { return inner_->Write(file, offset_bytes, data, state, who); });
    Require("WRITE", protocol::ViolationIn(reply, data.size()));
    return reply;
  }
  protocol::ReadReply ReadPieces(const FileHandle& file, uint64_t offset_bytes,
                                 std::span<std::byte> into, size_t piece_bytes,
                                 const protocol::OpenState* state, const Credential& who) override {
    const auto reply = inner_->ReadPieces(file, offset_bytes, into, piece_bytes, state, who);
    Require("READ in pieces", reply.count_bytes <= into.size() ? "" : "no more than requested");
    return reply;
  }
  protocol::WriteInFlight StartWrite(const FileHandle& file, uint64_t offset_bytes,
                                     std::span<const std::byte> data, protocol::Stability stability,
                                     const protocol::OpenState* state,
                                     const Credential& who) override {
    return inner_->StartWrite(file, offset_bytes, data, stability, state, who);
  }
  protocol::CommitReply Commit(const FileHandle& file, const Credential& who) override {
    return Checked("COMMIT", [&] { return inner_->Commit(file, who); });
  }
  protocol::ReadDirReply ReadDir(const FileHandle& directory, protocol::ReadDirPosition position,
                                 bool plus, const Credential& who) override {
    auto reply =
        Checked("READDIR", [&] { return inner_->ReadDir(directory, position, plus, who); });
    Require("READDIR", protocol::ViolationIn(reply, position, handle_bytes_max_));
    return reply;
  }

 private:
  friend class WrappedProtocol<CheckedProtocol>;
  using Clock = protocol::CallDeadline::Clock;

  template <class Execute>
  auto Pass(const fixtures::Call& call, Execute&& execute) -> decltype(execute()) {
    return Checked(call.procedure, execute);
  }
  template <class Execute>
  auto Checked(std::string_view procedure, Execute&& execute) -> decltype(execute()) {
    const Clock::time_point deadline = inner_->NewDeadline();
    const protocol::CallDeadline scope(deadline);  // as the client's calls
    auto reply = execute();
    Require(procedure, ViolationOf(reply));
    Require(procedure, Clock::now() < deadline + kSlack ? "" : "an end in time");
    return reply;
  }
  template <class Reply>
  protocol::Violation ViolationOf(const Reply& reply) const {
    if constexpr (requires { reply.count_bytes; }) {
      return {};  // of what was asked: above
    } else if constexpr (requires { protocol::ViolationIn(reply, handle_bytes_max_); }) {
      return protocol::ViolationIn(reply, handle_bytes_max_);
    } else if constexpr (requires { protocol::ViolationIn(reply); }) {
      return protocol::ViolationIn(reply);
    } else {
      return {};  // of what was asked: above
    }
  }

  const size_t handle_bytes_max_;
};

}  // namespace nfswalk::fuzz

#endif  // NFSWALK_TESTS_FUZZ_WIRE_CHECKED_PROTOCOL_H_
