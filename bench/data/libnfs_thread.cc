#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/data/file_thread.h"
#include "bench/measure/libnfs_context.h"
#include "bench/measure/terminal.h"

namespace nfswalk::bench {
namespace {

constexpr size_t kLeastWriteBytes = 512;

// Holds what synchronous and asynchronous calls have in common.
class LibnfsFile : public FileThread {
 public:
  explicit LibnfsFile(LibnfsContext context) : context_(std::move(context)) {}
  ~LibnfsFile() override { Disconnect(); }

  Outcome Open(const std::string& name) override {
    if (nfs_open(context(), ("/" + name).c_str(), O_RDWR, &file_) == 0) return FindWriteBytes();
    file_ = nullptr;
    return Failed("opening " + name);
  }

 protected:
  nfs_context* context() const { return context_.get(); }
  nfsfh* file() const { return file_; }
  size_t write_bytes() const { return write_bytes_; }  // of one call; steps are made of such
  Outcome Sync() { return nfs_fsync(context(), file_) == 0 ? Outcome() : Failed("fsync"); }
  std::unexpected<std::string> Failed(const std::string& what) const {
    return std::unexpected(what + " failed: " + nfs_get_error(context()));
  }
  // Ends the calls in flight. Idempotent.
  void Disconnect() {
    if (file_ != nullptr) nfs_close(context(), std::exchange(file_, nullptr));
    context_ = nullptr;
  }

 private:
  // libnfs 4.0 does not encode what the server would take of version 4.
  Outcome FindWriteBytes() {
    std::vector<std::byte> first(kStepBytes, kFill);
    Stamp(first, 0);
    for (; write_bytes_ >= kLeastWriteBytes; write_bytes_ /= 2) {
      if (nfs_pwrite(context(), file_, 0, write_bytes_, first.data()) > 0) return {};
    }
    return Failed("a write");
  }

  LibnfsContext context_;
  nfsfh* file_ = nullptr;
  size_t write_bytes_ = kStepBytes;
};

class LibnfsThread final : public LibnfsFile {
 public:
  using LibnfsFile::LibnfsFile;

  Outcome Write(uint64_t bytes) override {
    for (uint64_t at = 0; at < bytes && !Interrupted();) {
      const size_t done = at % kStepBytes;
      if (done == 0) Stamp(step_, at);
      const size_t most = std::min(write_bytes(), kStepBytes - done);
      const int count = nfs_pwrite(context(), file(), at, most, step_.data() + done);
      if (count <= 0) return Failed("a write");
      at += static_cast<uint64_t>(count);
    }
    return Sync();
  }
  Outcome Read(uint64_t bytes) override {
    for (uint64_t at = 0; at < bytes && !Interrupted();) {
      const size_t done = at % kStepBytes;
      const int count = nfs_pread(context(), file(), at, kStepBytes - done, step_.data() + done);
      if (count <= 0) return Failed("a read");
      const auto part = std::span(step_).subspan(done, static_cast<size_t>(count));
      if (!IsRight(part, at)) return WrongData();
      at += static_cast<uint64_t>(count);
    }
    return {};
  }
  Outcome ReadAt(std::span<const uint64_t> offsets) override {
    for (const uint64_t at : offsets) {
      if (Interrupted()) break;
      const int count = nfs_pread(context(), file(), at, kRandomBytes, step_.data());
      if (count != static_cast<int>(kRandomBytes)) return TransferFailed("a read");
      if (!IsRight(std::span(step_).first(kRandomBytes), at)) return WrongData();
    }
    return {};
  }

 private:
  std::vector<std::byte> step_ = std::vector<std::byte>(kStepBytes, kFill);
};

class AsyncLibnfsThread final : public LibnfsFile {
 public:
  AsyncLibnfsThread(LibnfsContext context, size_t depth)
      : LibnfsFile(std::move(context)), pieces_(depth, Piece{.thread = this}) {}
  ~AsyncLibnfsThread() override { Disconnect(); }

  // libnfs copies the data before nfs_pwrite_async() returns.
  Outcome Write(uint64_t bytes) override {
    const size_t size = write_bytes();
    std::vector<std::byte> step(size, kFill);
    const Outcome outcome = Run(bytes / size, size, [&](uint64_t i, Piece* piece) {
      std::fill_n(step.begin(), sizeof(uint64_t), kFill);
      if (i * size % kStepBytes == 0) Stamp(step, i * size);
      return nfs_pwrite_async(context(), file(), i * size, size, step.data(), Ended, piece);
    });
    return outcome ? Sync() : outcome;
  }
  // The data stays where libnfs received it, which is in its favour.
  Outcome Read(uint64_t bytes) override {
    const size_t size = ReadBytes();
    return Run(bytes / size, size, [&](uint64_t i, Piece* piece) {
      piece->offset_bytes = i * size;
      return nfs_pread_async(context(), file(), i * size, size, Ended, piece);
    });
  }
  Outcome ReadAt(std::span<const uint64_t> offsets) override {
    return Run(offsets.size(), kRandomBytes, [&](uint64_t i, Piece* piece) {
      piece->offset_bytes = offsets[i];
      return nfs_pread_async(context(), file(), offsets[i], kRandomBytes, Ended, piece);
    });
  }

 private:
  struct Piece {
    AsyncLibnfsThread* thread = nullptr;
    std::optional<uint64_t> offset_bytes = {};  // of a read
  };

  // libnfs 4.0 does not ask a server of version 4.
  size_t ReadBytes() const {
    const uint64_t most = nfs_get_readmax(context());
    return most == 0 ? kStepBytes : std::min<uint64_t>(most, kStepBytes);
  }

  static void Ended(int count, nfs_context*, void* data, void* private_data) {
    Piece& piece = *static_cast<Piece*>(private_data);
    AsyncLibnfsThread& thread = *piece.thread;
    if (count != static_cast<int>(thread.piece_bytes_)) {
      thread.outcome_ = TransferFailed("a call");
    } else if (piece.offset_bytes) {
      const std::span part(static_cast<const std::byte*>(data), thread.piece_bytes_);
      if (!thread.IsRight(part, *piece.offset_bytes)) thread.outcome_ = WrongData();
    }
    thread.free_.push_back(&piece);
  }

  template <typename Start>
  Outcome Run(uint64_t count, size_t piece_bytes, const Start& start) {
    piece_bytes_ = piece_bytes;
    free_.clear();
    for (Piece& piece : pieces_) free_.push_back(&piece);
    for (uint64_t i = 0; i < count || free_.size() < pieces_.size();) {
      if (!outcome_ || Interrupted()) count = std::min(count, i);
      while (i < count && !free_.empty()) {
        Piece* const piece = free_.back();
        free_.pop_back();
        if (start(i++, piece) != 0) return TransferFailed("starting a call");
      }
      pollfd waiting{nfs_get_fd(context()), static_cast<short>(nfs_which_events(context())), 0};
      poll(&waiting, 1, -1);
      if (nfs_service(context(), waiting.revents) < 0) return TransferFailed("the connection");
    }
    return outcome_;
  }

  std::vector<Piece> pieces_;
  size_t piece_bytes_ = 0;
  std::vector<Piece*> free_;
  Outcome outcome_;
};

template <typename Make>
MadeThreads MakeThreads(const DataPlace& place, const TransferSetting& setting, const Make& make) {
  FileThreads threads;
  while (threads.size() < setting.threads) {
    auto context =
        ConnectLibnfs(place.server, place.server.UrlOf(place.directory, setting.version));
    if (!context) return std::unexpected(std::move(context.error()));
    threads.push_back(make(std::move(*context)));
  }
  return threads;
}

}  // namespace

MadeThreads MakeLibnfsThreads(const DataPlace& place, const TransferSetting& setting) {
  return MakeThreads(place, setting, [](LibnfsContext context) {
    return std::make_unique<LibnfsThread>(std::move(context));
  });
}

MadeThreads MakeAsyncLibnfsThreads(const DataPlace& place, const TransferSetting& setting) {
  return MakeThreads(place, setting, [&](LibnfsContext context) {
    return std::make_unique<AsyncLibnfsThread>(std::move(context), setting.in_flight);
  });
}

}  // namespace nfswalk::bench
