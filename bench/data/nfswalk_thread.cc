#include <utility>

#include "bench/data/file_thread.h"
#include "bench/measure/terminal.h"
#include "nfsclient/client.h"

namespace nfswalk::bench {
namespace {

class NfswalkThread final : public FileThread {
 public:
  explicit NfswalkThread(std::shared_ptr<Client> client) : client_(std::move(client)) {}

  Outcome Open(const std::string& name) override {
    auto file = client_->Open(name, kMayRead | kMayWrite, Credential::OfProcess());
    if (!file) return TransferFailed("opening " + name);
    file_ = std::move(*file);
    return {};
  }
  Outcome Write(uint64_t bytes) override {
    for (uint64_t at = 0; at < bytes && !Interrupted(); at += kStepBytes) {
      Stamp(step_, at);
      if (file_->PWrite(step_, at) != step_.size()) return TransferFailed("a write");
    }
    return file_->Sync() == std::errc{} ? Outcome() : TransferFailed("fsync");
  }
  Outcome Read(uint64_t bytes) override {
    for (uint64_t at = 0; at < bytes && !Interrupted(); at += kStepBytes) {
      if (file_->PRead(step_, at) != step_.size()) return TransferFailed("a read");
      if (!IsRight(step_, at)) return WrongData();
    }
    return {};
  }
  Outcome ReadAt(std::span<const uint64_t> offsets) override {
    const auto into = std::span(step_).first(kRandomBytes);
    for (const uint64_t at : offsets) {
      if (Interrupted()) break;
      if (file_->PRead(into, at) != into.size()) return TransferFailed("a read");
      if (!IsRight(into, at)) return WrongData();
    }
    return {};
  }

 private:
  const std::shared_ptr<Client> client_;  // outlives file_
  std::unique_ptr<File> file_;
  std::vector<std::byte> step_ = std::vector<std::byte>(kStepBytes, kFill);
};

}  // namespace

MadeThreads MakeNfswalkThreads(const DataPlace& place, const TransferSetting& setting) {
  MountOptions options = place.server.OptionsFor(place.directory);
  options.server.version = setting.version;
  options.server.minor_version = 0;
  auto mounted = place.server.Mount(options);
  if (!mounted) return std::unexpected(std::move(mounted.error()));
  const std::shared_ptr<Client> client = std::move(*mounted);
  FileThreads threads;
  while (threads.size() < setting.threads) {
    threads.push_back(std::make_unique<NfswalkThread>(client));
  }
  return threads;
}

}  // namespace nfswalk::bench
