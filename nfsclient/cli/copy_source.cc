#include "nfsclient/cli/copy_source.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/local_descriptor.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::cli {
namespace {

std::errc Errno() { return static_cast<std::errc>(errno); }

class FromExport final : public CopySource {
 public:
  FromExport(Client& client, const Credential& credential)
      : client_(client), credential_(credential) {}

  Result<Attributes> Stat(const std::string& path, bool follow) override {
    return client_.Stat(path, credential_, {.no_follow = !follow});
  }
  void Walk(const std::string& start, const TreeOptions& options, TreeVisitor& visitor) override {
    WalkTree(client_, credential_, start, options, visitor);
  }
  Result<Reader> Open(const std::string& path) override {
    auto opened = client_.Open(path, kMayRead, credential_);
    if (!opened) return std::unexpected(opened.error());
    return [file = std::shared_ptr<File>(std::move(*opened))](std::span<std::byte> into,
                                                              uint64_t offset_bytes) {
      return file->PRead(into, offset_bytes);
    };
  }
  Result<std::string> ReadLink(const std::string& path) override {
    std::string text(protocol::kLinkBytesMax, '\0');
    const auto count = client_.ReadLink(path, text, credential_);
    if (!count) return std::unexpected(count.error());
    text.resize(*count);
    return text;
  }

 private:
  Client& client_;
  const Credential& credential_;
};

Attributes AttributesOf(const struct stat& found) {
  const auto time = [](const timespec& from) {
    return protocol::Time{from.tv_sec, static_cast<uint32_t>(from.tv_nsec)};
  };
  return {.type = static_cast<FileType>(found.st_mode >> 12),
          .mode = found.st_mode & 07777,
          .nlink = static_cast<uint32_t>(found.st_nlink),
          .uid = found.st_uid,
          .gid = found.st_gid,
          .size_bytes = static_cast<uint64_t>(found.st_size),
          .used_bytes = static_cast<uint64_t>(found.st_blocks) * 512,
          .rdev_major = major(found.st_rdev),
          .rdev_minor = minor(found.st_rdev),
          .fsid = found.st_dev,
          .fileid = found.st_ino,
          .atime = time(found.st_atim),
          .mtime = time(found.st_mtim),
          .ctime = time(found.st_ctim)};
}

class FromHere final : public CopySource {
 public:
  Result<Attributes> Stat(const std::string& path, bool follow) override {
    struct stat found{};
    const int flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
    if (fstatat(AT_FDCWD, path.c_str(), &found, flags) != 0) return std::unexpected(Errno());
    return AttributesOf(found);
  }
  void Walk(const std::string& start, const TreeOptions& /*options*/,
            TreeVisitor& visitor) override {
    Visit(start, 0, visitor);
  }
  Result<Reader> Open(const std::string& path) override {
    // A fifo that came in place of a file must not hold the copy up.
    auto file = std::make_shared<LocalDescriptor>(
        open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file->is_open()) return std::unexpected(Errno());
    return [file](std::span<std::byte> into, uint64_t offset_bytes) -> Result<size_t> {
      size_t done = 0;
      while (done < into.size()) {
        const ssize_t count = pread(file->get(), into.data() + done, into.size() - done,
                                    static_cast<off_t>(offset_bytes + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return std::unexpected(Errno());
        if (count == 0) break;
        done += static_cast<size_t>(count);
      }
      return done;
    };
  }
  Result<std::string> ReadLink(const std::string& path) override {
    std::string text(protocol::kLinkBytesMax, '\0');
    const ssize_t count = readlink(path.c_str(), text.data(), text.size());
    if (count < 0) return std::unexpected(Errno());
    text.resize(static_cast<size_t>(count));
    return text;
  }

 private:
  // As deep as a path is long (PATH_MAX).
  void Visit(const std::string& path, size_t depth, TreeVisitor& visitor) {
    const auto attributes = Stat(path, /*follow=*/false);
    if (!attributes) return visitor.Fail(path, attributes.error());
    const TreeEntry entry{path, depth, *attributes};
    visitor.Enter(entry);
    if (attributes->type != FileType::kDirectory) return;
    for (const std::string& name : List(path, visitor)) {
      if (visitor.done()) return;
      Visit(JoinPath(path, name), depth + 1, visitor);
    }
    visitor.Leave(entry);
  }
  static std::vector<std::string> List(const std::string& path, TreeVisitor& visitor) {
    std::vector<std::string> names;
    DIR* const directory = opendir(path.c_str());
    if (directory == nullptr) {
      visitor.Fail(path, Errno());
      return names;
    }
    errno = 0;
    while (const dirent* entry = readdir(directory)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    if (errno != 0) visitor.Fail(path, Errno());
    closedir(directory);
    std::ranges::sort(names);
    return names;
  }
};

}  // namespace

std::unique_ptr<CopySource> ExportSource(Client& client, const Credential& credential) {
  return std::make_unique<FromExport>(client, credential);
}

std::unique_ptr<CopySource> LocalSource() { return std::make_unique<FromHere>(); }

}  // namespace nfswalk::cli
