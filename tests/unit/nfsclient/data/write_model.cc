#include "tests/unit/nfsclient/data/write_model.h"

#include <algorithm>
#include <utility>

#include "tests/fixtures/client_internals.h"

namespace nfswalk::data {

namespace {

using How = ScriptedServer::How;
using Kind = Step::Kind;

constexpr size_t kInFlightMax = 3;
constexpr size_t kServerBytesMax = 5;
constexpr int kTries = 8;
const Credential kA{1, 1}, kB{2, 2};

constexpr std::array<const char*, 18> kNames = {
    "write A",  "write B",    "sync A",    "sync A through", "truncate", "truncate through",
    "stat",     "stat through", "read",    "read begins",    "read is sent", "read ends",
    "open",     "execute",    "answer",    "restart",        "other overwrites 0",
    "other appends"};
constexpr std::array<const char*, 6> kHows = {"",      " FILE_SYNC", " without attributes",
                                              " short", " ENOSPC",    " by end of connection"};

WriteExpectations::Bytes Values(size_t count) {
  WriteExpectations::Bytes bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i + 1);
  return bytes;
}

bool IsOneOf(Kind kind, std::initializer_list<Kind> kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

}  // namespace

std::string TextOf(const Script& script) {
  std::string text;
  for (const Step& step : script) {
    if (!text.empty()) text += "; ";
    text += kNames[static_cast<size_t>(step.kind)];
    if (IsOneOf(step.kind, {Kind::kWriteA, Kind::kWriteB})) {
      text += " [" + std::to_string(step.at) + ", +" + std::to_string(step.size) + ")";
    } else if (IsOneOf(step.kind,
                       {Kind::kCut, Kind::kCutThrough, Kind::kExecute, Kind::kAnswer})) {
      text += " " + std::to_string(step.at);
    }
    text += kHows[static_cast<size_t>(step.how)];
  }
  return text;
}

ModelMount::ModelMount() {
  auto tree = std::make_unique<fixtures::MemoryServer>();
  memory = tree.get();
  auto protocol = std::make_unique<ScriptedServer>(std::move(tree), *memory);
  server = protocol.get();
  MountOptions options;
  options.acregmin_s = options.acregmax_s = options.acdirmin_s = options.acdirmax_s = 600;
  options.dirty_writeback_ms = 0;
  client = std::move(*Client::MountOver(std::move(protocol), options));
  ClientInternals::SuperblockOf(*client).limits.write_bytes_max = 2;
}

WriteModel::WriteModel(ModelMount& mount, const Theme& theme, bool sends_before)
    : mount_(mount),
      server_(*mount.server),
      theme_(theme),
      last_value_(static_cast<uint8_t>(theme.initial_bytes)),
      expectations_(Values(theme.initial_bytes)),
      path_("f" + std::to_string(mount.files++)) {
  const uint64_t file =
      mount.memory->Add(fixtures::MemoryServer::kRoot, path_, FileType::kRegular);
  server_.Serve(file, Values(theme.initial_bytes), sends_before, expectations_);
  a_.file = std::move(*mount.client->Open(path_, kMayRead | kMayWrite, kA));
  b_.file = std::move(*mount.client->Open(path_, kMayRead | kMayWrite, kB));
}

WriteModel::~WriteModel() {
  server_.AnswerWaits(true);
  a_.file.reset();
  b_.file.reset();
}

std::vector<Step> WriteModel::Run(const Script& script) {
  script_ = &script;
  while (at_ < script.size() && violation().empty()) RunSteps();
  if (!next_) CollectNext();
  if (violation().empty()) End();
  return is_redundant_ ? std::vector<Step>() : std::move(*next_);
}

void WriteModel::RunSteps() {
  while (at_ < script_->size() && violation().empty()) {
    const Step& step = (*script_)[at_++];
    if (step.kind == Kind::kReadEnd) return;
    RunStep(step);
  }
  if (!next_) CollectNext();
}

void WriteModel::RunStep(const Step& step) {
  switch (step.kind) {
    case Kind::kExecute:
      server_.Execute(*server_.InFlight()[step.at], How::kPlain);
      break;
    case Kind::kAnswer:
      server_.Answer(*server_.InFlight()[step.at], step.how);
      break;
    case Kind::kRestart:
      server_.Restart();
      break;
    case Kind::kOverwrite:
    case Kind::kAppend:
      server_.ChangeByOther(step.kind == Kind::kAppend ? server_.current().size() : 0, NewValue());
      is_changed_since_open_ = true;
      break;
    default:
      RunClientStep(step);
  }
}

void WriteModel::RunClientStep(const Step& step) {
  const bool through =
      IsOneOf(step.kind, {Kind::kSyncThrough, Kind::kCutThrough, Kind::kStatThrough});
  server_.AnswerWaits(through);
  switch (step.kind) {
    case Kind::kWriteA:
    case Kind::kWriteB:
      Write(step.kind == Kind::kWriteA ? a_ : b_, step);
      break;
    case Kind::kSyncA:
    case Kind::kSyncThrough:
      (void)Sync(a_);
      break;
    case Kind::kCut:
    case Kind::kCutThrough:
      Cut(step.at);
      break;
    case Kind::kStat:
    case Kind::kStatThrough:
      Stat();
      break;
    case Kind::kOpen:
      Open();
      break;
    default:
      Read(step.kind);
  }
  server_.AnswerWaits(false);
  NoteRefusal();
  if (const auto cached = a_.file->cached_attributes()) {
    expectations_.CheckSize(cached->size_bytes);
  }
}

void WriteModel::NoteRefusal() {
  if (server_.TakeRefusal()) a_.is_owed = b_.is_owed = true;
}

void WriteModel::Write(Opened& by, const Step& step) {
  WriteExpectations::Bytes data;
  for (size_t i = 0; i < step.size; ++i) data.push_back(NewValue());
  expectations_.Writing(step.at, data);
  const auto taken = by.file->PWrite(data, step.at);
  expectations_.Wrote(step.at, data, taken.value_or(0));
  const bool is_told = !taken && taken.error() == std::errc::no_space_on_device;
  expectations_.Require(is_told == by.is_owed, "P6: a write does not tell what it has to");
  if (is_told) by.is_owed = false;
}

std::errc WriteModel::Sync(Opened& by) {
  const std::errc error = by.file->Sync();
  NoteRefusal();
  if (error == std::errc{}) {
    expectations_.Require(!by.is_owed, "P6: a sync does not tell an error");
    expectations_.Synced(server_.current(), server_.stable());
  } else if (error == std::errc::no_space_on_device) {
    expectations_.Require(by.is_owed, "P6: a sync tells an error twice");
    by.is_owed = false;
  } else {
    const bool is_interrupted =
        error == std::errc::timed_out || error == std::errc::not_enough_memory;
    expectations_.Require(is_interrupted, "a sync ends in an unexpected error");
  }
  return error;
}

void WriteModel::Cut(size_t size) {
  expectations_.Cutting(size);
  if (a_.file->SetAttributesOf({.size_bytes = size})) expectations_.Cut(size);
}

void WriteModel::Stat() {
  const auto attributes = mount_.client->Stat(path_, kA);
  if (!attributes) return;
  expectations_.CheckSize(attributes->size_bytes);
  if (!server_.HasShownAll()) return;
  expectations_.Require(attributes->size_bytes == server_.current().size(),
                        "P5: stat shows another size than the server's");
}

void WriteModel::Read(Kind how) {
  std::array<std::byte, WriteExpectations::kBytesMax> into;
  if (how != Kind::kRead) {
    server_.DuringRead(
        [this] {
          is_reading_ = true;
          RunSteps();
          is_reading_ = false;
        },
        how == Kind::kReadBegin);
  }
  expectations_.BeginRead();
  const auto count = a_.file->PRead(into, 0);
  if (server_.CancelDuringRead()) is_redundant_ = true;
  expectations_.Require(count.has_value(), "P1: a read fails");
  expectations_.EndRead(std::span(into).first(count.value_or(0)));
}

void WriteModel::Open() {
  const auto opened = mount_.client->Open(path_, kMayRead, kA);
  if (!opened) return expectations_.Fail("P7: an open fails");
  expectations_.Require(!is_changed_since_open_ || !(*opened)->is_unchanged(),
                        "P7: another client's change was not noticed by an open");
  is_changed_since_open_ = false;
}

void WriteModel::End() {
  const auto in_flight = server_.InFlight();
  for (auto call = in_flight.rbegin(); call != in_flight.rend(); ++call) {
    if (!(*call)->is_executed) server_.Execute(**call, How::kPlain);
  }
  expectations_.CheckServer(server_.current(), server_.stable());
  server_.AnswerWaits(true);
  std::errc error = std::errc::timed_out;
  for (int i = 0; i < kTries && error != std::errc{}; ++i) error = Sync(a_);
  expectations_.Require(error == std::errc{}, "a sync does not end");
  CheckClean();
}

void WriteModel::CheckClean() {
  const bool was_owed = b_.is_owed;
  const std::errc error = Sync(b_);
  expectations_.Require((error == std::errc{}) != was_owed, "P6: an error was not told to both");
  expectations_.Require(Sync(a_) == std::errc{} && Sync(b_) == std::errc{},
                        "P6: an error is told again");
  Stat();
  Read(Kind::kRead);
  std::array<std::byte, WriteExpectations::kBytesMax> into;
  const size_t count = b_.file->PRead(into, 0).value_or(0);
  expectations_.Require(std::ranges::equal(std::span(into).first(count), server_.current()),
                        "P1: after a sync a read does not show the server's file");
  Stat();
  Open();
}

bool WriteModel::CanFollow(const Step& step) const {
  const Step* const last = at_ == 0 ? nullptr : &(*script_)[at_ - 1];
  const bool repeats = last != nullptr && *last == step;
  switch (step.kind) {
    case Kind::kWriteA:
    case Kind::kWriteB:
      return true;
    case Kind::kReadBegin:
    case Kind::kReadSend:
      return !is_reading_;
    case Kind::kReadEnd:
      return is_reading_ && last->kind != Kind::kReadBegin && last->kind != Kind::kReadSend;
    case Kind::kRestart:
      return !repeats && (server_.current() != server_.stable() || !server_.InFlight().empty());
    case Kind::kOverwrite:
      return !server_.current().empty();
    case Kind::kAppend:
      return server_.current().size() < kServerBytesMax;
    default:
      return !repeats;
  }
}

void WriteModel::CollectNext() {
  next_.emplace();
  for (const Step& step : theme_.steps) {
    if (CanFollow(step)) next_->push_back(step);
  }
  CollectAnswers();
}

void WriteModel::CollectAnswers() {
  const auto in_flight = server_.InFlight();
  for (size_t i = 0; i < std::min(in_flight.size(), kInFlightMax); ++i) {
    const ScriptedServer::Call& call = *in_flight[i];
    if (call.is_executed) {
      next_->push_back({Kind::kAnswer, i});
      continue;
    }
    if (theme_.executes_early) next_->push_back({Kind::kExecute, i});
    const bool is_write = call.kind == ScriptedServer::Kind::kWrite;
    for (const How how : theme_.answers) {
      const bool fits = how == How::kShort ? call.data.size() > 1
                        : how == How::kFileSync || how == How::kNoSpace
                            ? is_write
                            : true;
      if (fits) next_->push_back({Kind::kAnswer, i, 0, how});
    }
  }
}

}  // namespace nfswalk::data
