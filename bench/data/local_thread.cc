#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "bench/data/file_thread.h"
#include "bench/measure/owned_fd.h"
#include "bench/measure/terminal.h"

namespace nfswalk::bench {
namespace {

class LocalThread final : public FileThread {
 public:
  explicit LocalThread(std::string directory) : directory_(std::move(directory)) {}

  Outcome Open(const std::string& name) override {
    file_ = OwnedFd(open((directory_ + "/" + name).c_str(), O_RDWR | O_CLOEXEC));
    return file_.get() >= 0 ? Outcome() : TransferFailed("opening " + name);
  }
  Outcome Write(uint64_t bytes) override {
    for (uint64_t at = 0; at < bytes && !Interrupted(); at += kStepBytes) {
      Stamp(step_, at);
      const ssize_t count = pwrite(file_.get(), step_.data(), kStepBytes, static_cast<off_t>(at));
      if (count != static_cast<ssize_t>(kStepBytes)) return TransferFailed("a write");
    }
    return fsync(file_.get()) == 0 ? Outcome() : TransferFailed("fsync");
  }
  Outcome Read(uint64_t bytes) override {
    for (uint64_t at = 0; at < bytes && !Interrupted(); at += kStepBytes) {
      if (!ReadStep(kStepBytes, at)) return TransferFailed("a read");
      if (!IsRight(step_, at)) return WrongData();
    }
    return {};
  }
  Outcome ReadAt(std::span<const uint64_t> offsets) override {
    for (const uint64_t at : offsets) {
      if (Interrupted()) break;
      if (!ReadStep(kRandomBytes, at)) return TransferFailed("a read");
      if (!IsRight(std::span(step_).first(kRandomBytes), at)) return WrongData();
    }
    return {};
  }

 private:
  bool ReadStep(size_t bytes, uint64_t at) {
    return pread(file_.get(), step_.data(), bytes, static_cast<off_t>(at)) ==
           static_cast<ssize_t>(bytes);
  }

  const std::string directory_;
  OwnedFd file_{-1};
  std::vector<std::byte> step_ = std::vector<std::byte>(kStepBytes, kFill);
};

}  // namespace

MadeThreads MakeLocalThreads(const DataPlace& place, const TransferSetting& setting) {
  FileThreads threads;
  while (threads.size() < setting.threads) {
    threads.push_back(std::make_unique<LocalThread>(place.backing));
  }
  return threads;
}

}  // namespace nfswalk::bench
