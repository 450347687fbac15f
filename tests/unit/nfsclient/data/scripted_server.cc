#include "tests/unit/nfsclient/data/scripted_server.h"

#include <algorithm>
#include <optional>
#include <type_traits>

namespace nfswalk::data {

using protocol::Stability;

template <class Reply>
class ScriptedServer::Waiting final : public protocol::InFlight<Reply> {
 public:
  Waiting(ScriptedServer& server, std::shared_ptr<Call> call)
      : server_(server), call_(std::move(call)) {}
  ~Waiting() override { call_->sent = {}; }

  std::optional<Reply> Finish() override {
    if (!server_.Wait(*call_)) return std::nullopt;
    server_.Show(call_->file.after, call_->changes);
    call_->is_taken = true;
    Reply reply;
    reply.error = call_->error;
    reply.file = call_->file;
    if constexpr (!std::is_same_v<Reply, protocol::FileChangeReply>) {
      reply.verifier = call_->verifier;
    }
    if constexpr (std::is_same_v<Reply, protocol::UnstableWriteReply>) {
      reply.count_bytes = call_->count_bytes;
      reply.committed = call_->stability;
      if (reply.error == std::errc::no_space_on_device) server_.is_refusal_told_ = true;
    }
    return reply;
  }

 private:
  ScriptedServer& server_;
  const std::shared_ptr<Call> call_;
};

void ScriptedServer::Serve(uint64_t file, const Bytes& content, bool sends_before,
                           WriteExpectations& expectations) {
  file_ = file;
  expectations_ = &expectations;
  current_ = stable_ = content;
  calls_.clear();
  sends_before_ = sends_before;
  changes_ = shown_changes_ = 0;
  answers_waits_ = is_refusal_told_ = false;
  during_read_ = nullptr;
  Touch();
}

auto ScriptedServer::InFlight() const -> std::vector<Call*> {
  std::vector<Call*> in_flight;
  for (const auto& call : calls_) {
    if (!call->is_answered) in_flight.push_back(call.get());
  }
  return in_flight;
}

bool ScriptedServer::HasShownAll() const {
  return shown_changes_ == changes_ &&
         std::ranges::all_of(calls_, [](const auto& call) { return call->is_taken; });
}

void ScriptedServer::Touch() {
  memory_.Edit(file_, [&](protocol::Attributes& now) { now.size_bytes = current_.size(); });
}

void ScriptedServer::ExecuteWrite(Call& call, How how) {
  if (how == How::kFileSync) call.stability = Stability::kFileSync;
  call.count_bytes = how == How::kShort ? 1 : call.data.size();
  const size_t end = call.offset + call.count_bytes;
  const auto write = [&](Bytes& into) {
    if (into.size() < end) into.resize(end);
    std::copy_n(call.data.begin(), call.count_bytes, into.begin() + call.offset);
  };
  write(current_);
  if (call.stability == Stability::kFileSync) write(stable_);
}

void ScriptedServer::Execute(Call& call, How how) {
  expectations_->Require(call.sent.empty() || std::ranges::equal(call.sent, call.data),
                         "P3: the data of a WRITE changes in flight");
  call.is_executed = true;
  call.file = {};
  if (how == How::kEnded) {
    call.error = std::errc::not_enough_memory;
    return;
  }
  if (sends_before_) call.file.before = protocol::PreOpAttributes{memory_.Get(file_).change};
  if (how == How::kNoSpace) {
    call.error = std::errc::no_space_on_device;
    expectations_->Refused(call.offset, call.end(), current_.size());
  } else if (call.kind == Kind::kWrite) {
    ExecuteWrite(call, how);
    Touch();
  } else if (call.kind == Kind::kCommit) {
    stable_ = current_;
  } else {
    current_.resize(call.size);
    stable_.resize(call.size);
    expectations_->SizeLost(call.size);
    Touch();
  }
  call.verifier = verifier_;
  if (how != How::kNoAttributes) call.file.after = memory_.Get(file_);
  call.changes = changes_;
}

void ScriptedServer::Answer(Call& call, How how) {
  if (!call.is_executed) Execute(call, how);
  call.is_answered = true;
}

bool ScriptedServer::Wait(Call& call) {
  if (!call.is_answered && answers_waits_) Answer(call, How::kPlain);
  return call.is_answered;
}

void ScriptedServer::Restart() {
  ++verifier_;
  for (const auto& call : calls_) {
    if (!call->is_answered) call->is_executed = false;
  }
  if (current_ == stable_) return;
  current_ = stable_;
  expectations_->SizeLost(current_.size());
  Touch();
}

void ScriptedServer::ChangeByOther(size_t at, std::byte value) {
  for (Bytes* const bytes : {&current_, &stable_}) {
    if (bytes->size() <= at) bytes->resize(at + 1);
    (*bytes)[at] = value;
  }
  Touch();
  ++changes_;
  expectations_->ChangedByOther(at, value);
}

void ScriptedServer::Show(const protocol::OptionalAttributes& attributes, uint64_t changes) {
  shown_changes_ = std::max(shown_changes_, changes);
  if (!attributes) return;
  expectations_->SizeShown(attributes->size_bytes, current_);
}

protocol::AttributesReply ScriptedServer::GetAttributes(const FileHandle& file,
                                                        const Credential& who) {
  protocol::AttributesReply reply = inner_->GetAttributes(file, who);
  if (fixtures::MemoryServer::IdOf(file) != file_) return reply;
  Show(reply.attributes, changes_);
  return reply;
}

protocol::ReadReply ScriptedServer::Read(const FileHandle& /*file*/, uint64_t offset_bytes,
                                         std::span<std::byte> into, const protocol::OpenState*,
                                         const Credential&) {
  const std::function<void()> meanwhile = std::exchange(during_read_, nullptr);
  if (meanwhile && !after_execution_) meanwhile();
  protocol::ReadReply reply;
  const size_t begin = std::min<size_t>(offset_bytes, current_.size());
  reply.count_bytes = std::min(into.size(), current_.size() - begin);
  reply.eof = begin + reply.count_bytes == current_.size();
  reply.attributes = memory_.Get(file_);
  std::copy_n(current_.begin() + begin, reply.count_bytes, into.begin());
  const uint64_t changes = changes_;
  if (meanwhile && after_execution_) meanwhile();
  Show(reply.attributes, changes);
  return reply;
}

auto ScriptedServer::Add(Call call) -> std::shared_ptr<Call> {
  return calls_.emplace_back(std::make_shared<Call>(std::move(call)));
}

protocol::WriteInFlight ScriptedServer::StartWrite(const FileHandle& /*file*/,
                                                   uint64_t offset_bytes,
                                                   std::span<const std::byte> data,
                                                   Stability stability, const protocol::OpenState*,
                                                   const Credential&) {
  expectations_->Sent(offset_bytes, data);
  for (const Call* call : InFlight()) {
    const bool overlaps = call->kind == Kind::kWrite && call->offset < offset_bytes + data.size() &&
                          offset_bytes < call->end();
    expectations_->Require(!overlaps, "P4: two WRITEs of a byte are in flight");
    expectations_->Require(call->kind != Kind::kSetSize,
                           "P4: a WRITE is sent beside a SETATTR of the size");
  }
  Call call{.kind = Kind::kWrite, .offset = offset_bytes, .data = Bytes(data.begin(), data.end())};
  call.sent = data;
  call.stability = stability;
  return std::make_unique<Waiting<protocol::UnstableWriteReply>>(*this, Add(std::move(call)));
}

protocol::CommitInFlight ScriptedServer::StartCommit(const FileHandle& /*file*/,
                                                     const Credential&) {
  return std::make_unique<Waiting<protocol::CommitReply>>(*this, Add({.kind = Kind::kCommit}));
}

protocol::FileChangeInFlight ScriptedServer::StartSetAttributes(const FileHandle& /*file*/,
                                                                const SetAttributes& attributes,
                                                                const Credential&) {
  for (const Call* call : InFlight()) {
    expectations_->Require(call->kind == Kind::kCommit,
                           "P4: a SETATTR of the size is sent beside a WRITE or another");
  }
  return std::make_unique<Waiting<protocol::FileChangeReply>>(
      *this, Add({.kind = Kind::kSetSize, .size = *attributes.size_bytes}));
}

}  // namespace nfswalk::data
