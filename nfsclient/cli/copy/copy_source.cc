#include "nfsclient/cli/copy/copy_source.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <limits>
#include <utility>
#include <vector>

#include "nfsclient/cli/copy/data_range.h"
#include "nfsclient/cli/copy/local_descriptor.h"
#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/show/link_target.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::cli {
namespace {

using protocol::kStale;

std::errc Errno() { return static_cast<std::errc>(errno); }

class FromExport final : public CopySource {
 public:
  FromExport(Client& client, const Credential& credential)
      : client_(client), credential_(credential) {}

  Result<TreeEntry> Find(const std::string& path) override {
    const auto attributes = client_.Stat(path, credential_);
    if (!attributes) return std::unexpected(attributes.error());
    auto root = client_.Resolve("/", credential_);
    if (!root) return std::unexpected(root.error());
    return TreeEntry{.path = path,
                     .attributes = *attributes,
                     .name = path,
                     .directory = std::move(*root),
                     .follows_link = true};
  }
  void Walk(const std::string& start, const TreeOptions& options, TreeVisitor& visitor) override {
    WalkTree(client_, credential_, start, options, visitor);
  }
  Result<SourceFile> Open(const TreeEntry& entry) override {
    auto opened = entry.directory->Open(entry.name, kMayRead, credential_,
                                        {.no_follow = !entry.follows_link});
    if (!opened) return std::unexpected(IsReplaced(opened.error()) ? kStale : opened.error());
    std::shared_ptr<File> file = std::move(*opened);
    const Attributes attributes = file->attributes();
    if (!IsSameFile(attributes, entry.attributes)) return std::unexpected(kStale);
    return SourceFile{attributes,
                      [file](std::span<std::byte> into, uint64_t offset_bytes) {
                        return file->PRead(into, offset_bytes);
                      },
                      [file](uint64_t offset_bytes, Content content) {
                        return file->Seek(offset_bytes, content);
                      },
                      XattrsOf(file), file};
  }
  Result<XattrSource> XattrsOfDirectory(const TreeEntry& entry) override {
    auto directory = ResolveListed(entry, credential_);
    if (!directory) return std::unexpected(directory.error());
    return XattrsOf(std::shared_ptr<const Node>(*std::move(directory)), credential_);
  }
  Result<std::string> ReadLink(const TreeEntry& entry) override {
    const auto link = ResolveListed(entry, credential_);
    if (!link) return std::unexpected(link.error());
    return ReadLinkTarget(**link, "", credential_);
  }

 private:
  // The errors that Open() has for what is no regular file.
  static bool IsReplaced(std::errc error) {
    return error == std::errc::too_many_symbolic_link_levels ||
           error == std::errc::is_a_directory || error == std::errc::invalid_argument;
  }

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

// An open file and what it is.
struct Opened {
  LocalDescriptor descriptor;
  Attributes attributes;
};

// Whether the file is the root of a mount. No rename brings one to another name (EBUSY).
bool IsMountRoot(int fd) {
  struct statx found{};
  return statx(fd, "", AT_EMPTY_PATH, 0, &found) == 0 &&
         (found.stx_attributes & found.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
}

// openat(2), without an effect on what has the entry's name by now, where that is another file: a
// fifo does not block. The mode is that of the file that was opened. A directory that something was
// mounted on since it was listed, as autofs does when it is opened, is that mount.
Result<Opened> OpenListed(const TreeEntry& entry, int flags) {
  if (!entry.follows_link) flags |= O_NOFOLLOW;
  LocalDescriptor file(openat(entry.local_directory->get(), entry.name.c_str(),
                              flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) {
    const bool is_replaced = errno == ELOOP || errno == ENOTDIR || errno == ENXIO;
    return std::unexpected(is_replaced ? kStale : Errno());
  }
  struct stat found{};
  if (fstat(file.get(), &found) != 0) return std::unexpected(Errno());
  const Attributes attributes = AttributesOf(found);
  constexpr int kEnters = O_DIRECTORY | O_NOFOLLOW;
  const bool is_listed = IsSameFile(attributes, entry.attributes) ||
                         ((flags & kEnters) == kEnters && IsMountRoot(file.get()));
  if (!is_listed) return std::unexpected(kStale);
  return Opened{std::move(file), attributes};
}

class FromHere final : public CopySource {
 public:
  explicit FromHere(TaskThreads& threads) : threads_(threads) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) directories_max_ = limit.rlim_cur / 2;
  }

  Result<TreeEntry> Find(const std::string& path) override {
    TreeEntry entry = StartAt(path);
    entry.follows_link = true;
    if (const std::errc error = Stat(entry); error != std::errc{}) return std::unexpected(error);
    return entry;
  }
  void Walk(const std::string& start, const TreeOptions& /*options*/,
            TreeVisitor& visitor) override {
    Visit(StartAt(start), visitor);
  }
  Result<SourceFile> Open(const TreeEntry& entry) override {
    auto opened = OpenListed(entry, O_RDONLY);
    if (!opened) return std::unexpected(opened.error());
    const auto file = std::make_shared<const LocalDescriptor>(std::move(opened->descriptor));
    const auto read = [file](std::span<std::byte> into, uint64_t offset_bytes) -> Result<size_t> {
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
    const auto seek = [file](uint64_t offset_bytes, Content content) -> Result<uint64_t> {
      const off_t found = lseek(file->get(), static_cast<off_t>(offset_bytes),
                                content == Content::kData ? SEEK_DATA : SEEK_HOLE);
      if (found < 0) return std::unexpected(Errno());
      return static_cast<uint64_t>(found);
    };
    return SourceFile{opened->attributes, read, seek, XattrsOf(file)};
  }
  Result<XattrSource> XattrsOfDirectory(const TreeEntry& entry) override {
    auto opened = OpenListed(entry, O_RDONLY | O_DIRECTORY);
    if (!opened) return std::unexpected(opened.error());
    return XattrsOf(std::make_shared<const LocalDescriptor>(std::move(opened->descriptor)));
  }
  Result<std::string> ReadLink(const TreeEntry& entry) override {
    const auto link = OpenListed(entry, O_PATH);
    if (!link) return std::unexpected(link.error());
    std::string text(protocol::kLinkBytesMax, '\0');
    const ssize_t count = readlinkat(link->descriptor.get(), "", text.data(), text.size());
    if (count < 0) return std::unexpected(Errno());
    text.resize(static_cast<size_t>(count));
    return text;
  }

 private:
  using Directory = std::shared_ptr<const LocalDescriptor>;

  static TreeEntry StartAt(const std::string& path) {
    return {.path = path,
            .name = path,
            .local_directory = std::make_shared<const LocalDescriptor>(AT_FDCWD)};
  }
  static std::errc Stat(TreeEntry& entry) {
    struct stat found{};
    if (fstatat(entry.local_directory->get(), entry.name.c_str(), &found,
                entry.follows_link ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
      return Errno();
    }
    entry.attributes = AttributesOf(found);
    return {};
  }

  // As deep as a path is long.
  void Visit(TreeEntry entry, TreeVisitor& visitor) {
    const bool is_too_long = entry.path.size() > TreeOptions::kPathBytesMax;
    const std::errc error = is_too_long ? std::errc::filename_too_long : Stat(entry);
    if (error != std::errc{}) return visitor.Fail(entry.path, error);
    visitor.Enter(entry);
    if (entry.attributes.type != FileType::kDirectory) return;
    const auto directory = EnterDirectory(entry);
    if (!directory) visitor.Fail(entry.path, directory.error());
    const auto names = directory ? List(entry, **directory, visitor) : std::vector<std::string>();
    for (const std::string& name : names) {
      if (visitor.done()) return;
      Visit({.path = JoinPath(entry.path, name),
             .depth = entry.depth + 1,
             .name = name,
             .local_directory = *directory},
            visitor);
    }
    visitor.Leave(entry);
  }
  Result<Directory> EnterDirectory(const TreeEntry& entry) {
    if (directories_ >= directories_max_) threads_.Wait();
    auto opened = OpenListed(entry, O_RDONLY | O_DIRECTORY);
    if (!opened) return std::unexpected(opened.error());
    ++directories_;
    return Directory(new LocalDescriptor(std::move(opened->descriptor)),
                     [this](const LocalDescriptor* directory) {
                       delete directory;
                       --directories_;
                     });
  }
  static std::vector<std::string> List(const TreeEntry& entry, const LocalDescriptor& directory,
                                       TreeVisitor& visitor) {
    std::vector<std::string> names;
    // closedir(3) closes its own.
    const int descriptor = fcntl(directory.get(), F_DUPFD_CLOEXEC, 0);
    DIR* const stream = descriptor >= 0 ? fdopendir(descriptor) : nullptr;
    if (stream == nullptr) {
      visitor.Fail(entry.path, Errno());
      if (descriptor >= 0) close(descriptor);
      return names;
    }
    errno = 0;
    while (const dirent* found = readdir(stream)) {
      const std::string name = found->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    if (errno != 0) visitor.Fail(entry.path, Errno());
    closedir(stream);
    std::ranges::sort(names);
    return names;
  }

  TaskThreads& threads_;
  size_t directories_max_ = std::numeric_limits<size_t>::max();
  std::atomic<size_t> directories_ = 0;  // that are held
};

}  // namespace

CopiedData CopyData(const SourceFile& source, std::span<std::byte> room,
                    const std::function<std::errc(uint64_t bytes)>& skip,
                    const std::function<std::errc(std::span<const std::byte>)>& write,
                    const std::function<uint64_t(uint64_t, uint64_t)>& copy) {
  CopiedData copied;
  uint64_t& at = copied.size_bytes;
  for (;;) {
    const DataRange data = NextData(source.attributes, at, source.seek);
    if (data.begin > at) copied.refused = skip(data.begin - at);
    if (copied.refused != kOk) return copied;
    at = data.begin;
    while (at < data.end) {
      if (const uint64_t done = copy ? copy(at, data.end - at) : 0; done != 0) {
        at += done;
        continue;
      }
      const auto piece = room.first(std::min<uint64_t>(room.size(), data.end - at));
      const Result<size_t> count = source.read(piece, at);
      if (!count) {
        copied.failed = count.error();
        return copied;
      }
      copied.refused = write(piece.first(*count));
      if (copied.refused != kOk) return copied;
      at += *count;
      if (*count < piece.size()) return copied;
    }
  }
}

std::unique_ptr<CopySource> ExportSource(Client& client, const Credential& credential) {
  return std::make_unique<FromExport>(client, credential);
}

std::unique_ptr<CopySource> LocalSource(TaskThreads& threads) {
  return std::make_unique<FromHere>(threads);
}

}  // namespace nfswalk::cli
