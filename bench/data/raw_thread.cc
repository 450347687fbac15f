#include <algorithm>
#include <deque>
#include <utility>

#include "bench/data/file_thread.h"
#include "bench/measure/terminal.h"
#include "nfsclient/nfs3/nfs3.h"
#include "nfsclient/nfs4/nfs4.h"
#include "nfsclient/protocol/protocol.h"

namespace nfswalk::bench {
namespace {

using protocol::Protocol;

using Buffers = std::vector<std::vector<std::byte>>;  // of kStepBytes

// `start(i, buffer)` for each i below `count`, as many in flight as there are buffers, and
// `finish(i, buffer, call)` for each that was started, in the same order. Returns the first error
// of a `finish`.
template <typename InFlight, typename Start, typename Finish>
Outcome Pipeline(Buffers& buffers, uint64_t count, const Start& start, const Finish& finish) {
  Outcome outcome;
  std::deque<InFlight> in_flight;
  uint64_t started = 0, finished = 0;
  const auto buffer_of = [&](uint64_t call) { return std::span(buffers[call % buffers.size()]); };
  while (finished < count) {
    for (; started < count && started - finished < buffers.size(); ++started) {
      in_flight.push_back(start(started, buffer_of(started)));
    }
    const Outcome ended = finish(finished, buffer_of(finished), in_flight.front());
    in_flight.pop_front();
    ++finished;
    if (outcome) outcome = ended;
    if (!outcome || Interrupted()) count = started;
  }
  return outcome;
}

// Holds what the threads of a turn share.
struct RawMount {
  std::unique_ptr<Protocol> nfs;
  protocol::FileHandle root = {};
  size_t read_bytes = 0, write_bytes = 0;  // of one call
};

class RawThread final : public FileThread {
 public:
  RawThread(std::shared_ptr<RawMount> mount, size_t depth)
      : mount_(std::move(mount)), buffers_(depth, std::vector(kStepBytes, kFill)) {}

  Outcome Open(const std::string& name) override {
    const auto found = mount_->nfs->Lookup(mount_->root, name, me_);
    if (found.error != kOk) return TransferFailed("a LOOKUP");
    file_ = found.handle;
    auto opened = mount_->nfs->Open(mount_->root, name, file_, true, true, me_);
    if (opened.error != kOk) return TransferFailed("an OPEN");
    state_ = std::move(opened.state);
    return {};
  }
  Outcome Write(uint64_t bytes) override {
    const size_t size = mount_->write_bytes;
    const auto start = [&](uint64_t i, std::span<std::byte> buffer) {
      std::fill_n(buffer.begin(), sizeof(uint64_t), kFill);
      if (i * size % kStepBytes == 0) Stamp(buffer, i * size);
      return mount_->nfs->StartWrite(file_, i * size, buffer.first(size),
                                     protocol::Stability::kUnstable, state_.get(), me_);
    };
    const auto finish = [&](uint64_t, std::span<std::byte>,
                            const protocol::WriteInFlight& call) -> Outcome {
      if (call == nullptr) return TransferFailed("starting a WRITE");
      const auto reply = call->Finish();
      if (!reply || reply->error != kOk || reply->count_bytes != size) {
        return TransferFailed("a WRITE");
      }
      return {};
    };
    const Outcome outcome =
        Pipeline<protocol::WriteInFlight>(buffers_, bytes / size, start, finish);
    if (mount_->nfs->Commit(file_, me_).error != kOk) return TransferFailed("a COMMIT");
    return outcome;
  }
  Outcome Read(uint64_t bytes) override {
    const size_t size = mount_->read_bytes;
    return ReadMany(bytes / size, size, [=](uint64_t i) { return i * size; });
  }
  Outcome ReadAt(std::span<const uint64_t> offsets) override {
    return ReadMany(offsets.size(), kRandomBytes, [=](uint64_t i) { return offsets[i]; });
  }

 private:
  template <typename OffsetOf>
  Outcome ReadMany(uint64_t count, size_t bytes, const OffsetOf& offset_of) {
    const auto start = [&](uint64_t i, std::span<std::byte> buffer) {
      return mount_->nfs->StartRead(file_, offset_of(i), buffer.first(bytes), state_.get(), me_);
    };
    const auto finish = [&](uint64_t i, std::span<std::byte> buffer,
                            const protocol::ReadInFlight& call) -> Outcome {
      if (call == nullptr) return TransferFailed("starting a READ");
      const auto reply = call->Finish();
      if (!reply || reply->error != kOk || reply->count_bytes != bytes) {
        return TransferFailed("a READ");
      }
      return IsRight(buffer.first(bytes), offset_of(i)) ? Outcome() : WrongData();
    };
    return Pipeline<protocol::ReadInFlight>(buffers_, count, start, finish);
  }

  const std::shared_ptr<RawMount> mount_;  // outlives state_
  Buffers buffers_;
  const Credential me_ = Credential::OfProcess();
  protocol::FileHandle file_ = {};
  std::unique_ptr<protocol::OpenState> state_;
};

// A power of two, so that steps are made of whole calls.
size_t CallBytes(size_t most) {
  size_t bytes = kStepBytes;
  while (bytes > most) bytes /= 2;
  return bytes;
}

}  // namespace

MadeThreads MakeRawThreads(const DataPlace& place, const TransferSetting& setting) {
  MountOptions options = place.server.OptionsFor(place.directory);
  options.server.version = setting.version;
  options.server.minor_version = 0;
  const auto mount = std::make_shared<RawMount>();
  std::expected<std::unique_ptr<Protocol>, protocol::ConnectError> connected;
  place.server.InItsNetwork([&] {
    connected = setting.version == 3
                    ? protocol::Nfs3::ConnectNfs3(options.server, options.transport)
                    : protocol::Nfs4::ConnectNfs4(options.server, options.transport);
  });
  if (!connected) return std::unexpected(std::move(connected.error().message));
  mount->nfs = std::move(*connected);
  const auto root = mount->nfs->GetRoot(Credential::OfProcess());
  if (root.error != kOk) return TransferFailed("asking for the root");
  mount->root = root.handle;
  mount->read_bytes = CallBytes(root.limits.read_bytes_max);
  mount->write_bytes = CallBytes(root.limits.write_bytes_max);
  FileThreads threads;
  while (threads.size() < setting.threads) {
    threads.push_back(std::make_unique<RawThread>(mount, setting.in_flight));
  }
  return threads;
}

}  // namespace nfswalk::bench
