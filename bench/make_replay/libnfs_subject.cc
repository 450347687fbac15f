#include "bench/make_replay/libnfs_subject.h"

#include <nfsc/libnfs.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace nfswalk::bench {

namespace {

class LibnfsWorker final : public Worker {
 public:
  static std::expected<std::unique_ptr<Worker>, std::string> Connect(const std::string& url) {
    auto worker = std::unique_ptr<LibnfsWorker>(new LibnfsWorker);
    nfs_url* parsed = nfs_parse_url_dir(worker->nfs_, url.c_str());
    if (parsed == nullptr) return std::unexpected("libnfs does not read the URL " + url);
    int failed = nfs_mount(worker->nfs_, parsed->server, parsed->path);
    nfs_destroy_url(parsed);
    if (failed != 0) {
      return std::unexpected(std::string("libnfs: ") + nfs_get_error(worker->nfs_));
    }
    return worker;
  }
  ~LibnfsWorker() override { nfs_destroy_context(nfs_); }

  Answer Ask(const ReplayCall& call) override {
    const Call& recorded = *call.recorded;
    const char* path = call.path->c_str();
    switch (recorded.kind) {
      case CallKind::kStat: return Stat(path, recorded.no_follow);
      case CallKind::kAccess: return {.error = -nfs_access(nfs_, path, recorded.access_mode)};
      case CallKind::kReadLink: {
        int failed = nfs_readlink(nfs_, path, text_.data(), static_cast<int>(text_.size()));
        if (failed < 0) return {.error = -failed};
        return {.link_text = text_.data()};
      }
      case CallKind::kOpen: {
        Answer answer = Stat(path, recorded.no_follow);
        if (answer.error != 0) return answer;
        if (recorded.directory && (answer.mode & 0170000) != 0040000) return {.error = ENOTDIR};
        answer.error = -nfs_access(nfs_, path, recorded.access_mode);
        return answer;
      }
      case CallKind::kReadDir: return {};
    }
    return {.error = EINVAL};
  }

 private:
  LibnfsWorker() : nfs_(nfs_init_context()) {
    // Its own reconnecting would repeat calls that may not be repeated.
    nfs_set_autoreconnect(nfs_, 0);
  }

  Answer Stat(const char* path, bool no_follow) {
    nfs_stat_64 status;
    int failed = no_follow ? nfs_lstat64(nfs_, path, &status) : nfs_stat64(nfs_, path, &status);
    if (failed < 0) return {.error = -failed};
    return {.mode = static_cast<uint32_t>(status.nfs_mode), .size = status.nfs_size};
  }

  nfs_context* nfs_;
  std::array<char, 4096> text_{};
};

class LibnfsSubject final : public Subject {
 public:
  explicit LibnfsSubject(std::string url) : url_(std::move(url)) {}
  std::string name() const override { return "libnfs"; }
  std::string mode() const override { return ""; }
  std::expected<std::unique_ptr<Worker>, std::string> MakeWorker() override {
    return LibnfsWorker::Connect(url_);
  }
  bool one_pass_only() const override { return true; }

 private:
  const std::string url_;
};

}  // namespace

std::unique_ptr<Subject> MakeLibnfsSubject(std::string url) {
  return std::make_unique<LibnfsSubject>(std::move(url));
}

}  // namespace nfswalk::bench
