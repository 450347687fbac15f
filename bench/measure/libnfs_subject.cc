#include <fcntl.h>
#include <nfsc/libnfs.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "bench/measure/libnfs_context.h"
#include "bench/measure/subjects.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

// In the calling thread's network.
std::expected<LibnfsContext, std::string> Connect(const std::string& url) {
  LibnfsContext context(nfs_init_context());
  if (context == nullptr) return std::unexpected("libnfs: out of memory");
  nfs_url* parsed = nfs_parse_url_dir(context.get(), (url + "&uid=0&gid=0").c_str());
  if (parsed == nullptr) return std::unexpected(fmt::format("libnfs does not read {}", url));
  // RFC 7530 16.33: another context of the same name ends the state of this one.
  static std::atomic<uint64_t> contexts = 0;
  const std::string name = fmt::format("nfswalk bench {} {}", getpid(), contexts.fetch_add(1));
  nfs4_set_client_name(context.get(), name.c_str());
  // Its reconnecting repeats calls that may not be repeated and can hand out the wrong reply.
  nfs_set_autoreconnect(context.get(), 0);
  const int failed = nfs_mount(context.get(), parsed->server, parsed->path);
  nfs_destroy_url(parsed);
  if (failed != 0) {
    return std::unexpected(
        fmt::format("libnfs cannot mount {}: {}", url, nfs_get_error(context.get())));
  }
  return context;
}

class LibnfsThread final : public SubjectThread {
 public:
  explicit LibnfsThread(LibnfsContext context) : context_(std::move(context)) {
    nfs_umask(context_.get(), 0);
  }

  Answer Ask(const Call& call, std::span<char> link_text) override {
    const char* path = call.path.data();
    switch (call.kind) {
      case CallKind::kReadLink: {
        const int failed = nfs_readlink(context_.get(), path, link_text.data(),
                                        static_cast<int>(link_text.size()));
        if (failed < 0) return {.error = -failed};
        return {.size_bytes = std::strlen(link_text.data())};
      }
      case CallKind::kOpen:
        return Open(path, call.access_mode == kMayWrite ? O_WRONLY : O_RDONLY);
      case CallKind::kAccess: {
        const int failed = nfs_access(context_.get(), path, call.access_mode);
        return {.error = failed < 0 ? -failed : 0};
      }
      case CallKind::kReadDir:
        return ReadDir(path);
      default:
        return Stat(path, call.no_follow);
    }
  }

  Answer Change(const BuildCall& call) override { return {.error = -Changes(call)}; }

 private:
  Answer Stat(const char* path, bool no_follow) {
    nfs_stat_64 status;
    const int failed = no_follow ? nfs_lstat64(context_.get(), path, &status)
                                 : nfs_stat64(context_.get(), path, &status);
    if (failed < 0) return {.error = -failed};
    return {.mode = static_cast<uint32_t>(status.nfs_mode),
            .size_bytes = status.nfs_size,
            .links = static_cast<uint32_t>(status.nfs_nlink),
            .modified = {.seconds = static_cast<int64_t>(status.nfs_mtime),
                         .nanoseconds = static_cast<uint32_t>(status.nfs_mtime_nsec)}};
  }

  // 0, or -errno.
  int Changes(const BuildCall& call) {
    nfs_context* const context = context_.get();
    const char* path = call.path.data();
    switch (call.kind) {
      case CallKind::kCreate:
        return Open(path, O_WRONLY | O_CREAT | (call.exclusive ? O_EXCL : 0), call.mode).error * -1;
      case CallKind::kTruncate:
        return nfs_truncate(context, path, call.size_bytes);
      case CallKind::kMakeDirectory:
        return nfs_mkdir2(context, path, call.mode);
      case CallKind::kRemoveDirectory:
        return nfs_rmdir(context, path);
      case CallKind::kUnlink:
        return nfs_unlink(context, path);
      case CallKind::kSymlink:
        return nfs_symlink(context, call.second.data(), path);
      case CallKind::kLink:
        return nfs_link(context, path, call.second.data());
      case CallKind::kRename:
        return nfs_rename(context, path, call.second.data());
      case CallKind::kChmod:
        return nfs_chmod(context, path, call.mode);
      default:
        return SetTime(call);
    }
  }

  // To the microsecond, which is what the library takes.
  int SetTime(const BuildCall& call) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    timeval time{.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                 .tv_usec = 0};
    if (call.modified) {
      time = {.tv_sec = call.modified->seconds, .tv_usec = call.modified->nanoseconds / 1000};
    }
    timeval times[2] = {time, time};
    return call.no_follow ? nfs_lutimes(context_.get(), call.path.data(), times)
                          : nfs_utimes(context_.get(), call.path.data(), times);
  }

  Answer Open(const char* path, int flags, int mode = 0) {
    nfsfh* file = nullptr;
    const int failed = nfs_open2(context_.get(), path, flags, mode, &file);
    if (failed < 0) return {.error = -failed};
    nfs_close(context_.get(), file);
    return {};
  }

  Answer ReadDir(const char* path) {
    nfsdir* directory = nullptr;
    const int failed = nfs_opendir(context_.get(), path, &directory);
    if (failed < 0) return {.error = -failed};
    nfs_closedir(context_.get(), directory);
    return {};
  }

  const LibnfsContext context_;
};

class LibnfsSubject final : public Subject {
 public:
  LibnfsSubject(std::string url, ServerExport& server) : url_(std::move(url)), server_(server) {}

  std::string_view subject() const override { return "libnfs sync"; }
  std::string_view mode() const override { return "-"; }
  std::expected<std::unique_ptr<SubjectThread>, std::string> StartThread() override {
    auto context = ConnectLibnfs(server_, url_);
    if (!context) return std::unexpected(std::move(context.error()));
    return std::make_unique<LibnfsThread>(std::move(*context));
  }
  bool caches() const override { return false; }
  pid_t server_pid() const override { return server_.server_pid(); }

 private:
  const std::string url_;
  ServerExport& server_;
};

}  // namespace

std::expected<LibnfsContext, std::string> ConnectLibnfs(ServerExport& server,
                                                        const std::string& url) {
  std::expected<LibnfsContext, std::string> context;
  server.InItsNetwork([&] { context = Connect(url); });
  return context;
}

std::unique_ptr<Subject> MakeLibnfsSubject(std::string url, ServerExport& server) {
  return std::make_unique<LibnfsSubject>(std::move(url), server);
}

}  // namespace nfswalk::bench
