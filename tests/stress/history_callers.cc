#include "tests/stress/history_callers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

#include "tests/integration/mount_run.h"

namespace nfswalk::stress {
namespace {

class PosixCaller : public Caller {
 public:
  explicit PosixCaller(const std::string& root) : root_(root + "/") {}
  int Stat(const std::string& path, FileView& view) override {
    struct stat found{};
    if (const int error = ErrorOf(lstat((root_ + path).c_str(), &found)); error != 0) return error;
    view = {found.st_ino, static_cast<uint64_t>(found.st_size), found.st_mode & 07777,
            found.st_nlink, S_ISDIR(found.st_mode)};
    return 0;
  }
  int Read(const std::string& path, std::string& text, uint64_t& fileid) override {
    const int fd = open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    Descriptor file(fd);
    text.resize(256);
    ssize_t count = read(file.fd, text.data(), text.size());
    // FUSE of Linux 7 says EIO of any error that a page is read with.
    if (count < 0 && errno == EIO && fcntl(file.fd, F_SETFL, O_DIRECT) == 0) {
      count = pread(file.fd, text.data(), text.size(), 0);
    }
    if (count < 0) return errno == ESTALE ? 0 : errno;
    text.resize(static_cast<size_t>(count));
    struct stat found{};
    fstat(file.fd, &found);
    fileid = found.st_ino;
    return 0;
  }
  int List(const std::string& path, std::map<std::string, uint64_t>& names) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir((root_ + path).c_str()), closedir);
    if (directory == nullptr) return errno;
    errno = 0;
    while (const dirent* entry = readdir(directory.get())) names[entry->d_name] = entry->d_ino;
    return errno;
  }
  int Create(const std::string& path, bool exclusive) override {
    return OpenError(root_ + path, O_CREAT | O_WRONLY | (exclusive ? O_EXCL : 0), 0644);
  }
  int Write(const std::string& path, const std::string& text) override {
    const int fd = open((root_ + path).c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    Descriptor file(fd);
    if (pwrite(file.fd, text.data(), text.size(), 0) < 0) return errno;
    return ErrorOf(close(std::exchange(file.fd, -1)));
  }
  int Truncate(const std::string& path, uint64_t size_bytes) override {
    return ErrorOf(truncate((root_ + path).c_str(), static_cast<off_t>(size_bytes)));
  }
  int Chmod(const std::string& path, uint32_t mode) override {
    return ErrorOf(chmod((root_ + path).c_str(), mode));
  }
  int Link(const std::string& from, const std::string& to) override {
    return ErrorOf(link((root_ + from).c_str(), (root_ + to).c_str()));
  }
  int Rename(const std::string& from, const std::string& to) override {
    return ErrorOf(rename((root_ + from).c_str(), (root_ + to).c_str()));
  }
  int Unlink(const std::string& path) override { return ErrorOf(unlink((root_ + path).c_str())); }
  int MakeDirectory(const std::string& path) override {
    return ErrorOf(mkdir((root_ + path).c_str(), 0755));
  }
  int RemoveDirectory(const std::string& path) override {
    return ErrorOf(rmdir((root_ + path).c_str()));
  }

 private:
  const std::string root_;
};

class ClientCaller : public Caller {
 public:
  explicit ClientCaller(std::unique_ptr<Client> client) : client_(std::move(client)) {}
  int Stat(const std::string& path, FileView& view) override {
    const auto found = client_->Stat(path, who_, {.no_follow = true});
    if (!found) return static_cast<int>(found.error());
    view = {found->fileid, found->size_bytes, found->mode, found->nlink,
            found->type == FileType::kDirectory};
    return 0;
  }
  int Read(const std::string& path, std::string& text, uint64_t& fileid) override {
    const auto file = client_->Open(path, kMayRead, who_);
    if (!file) return static_cast<int>(file.error());
    text.resize(256);
    const auto count = (*file)->PRead(std::as_writable_bytes(std::span(text)), 0);
    if (!count) {
      const int error = static_cast<int>(count.error());
      return error == ESTALE ? 0 : error;
    }
    text.resize(*count);
    fileid = (*file)->attributes().fileid;
    return static_cast<int>((*file)->Close());
  }
  int List(const std::string& path, std::map<std::string, uint64_t>& names) override {
    return static_cast<int>(client_->ReadDir(path, who_, [&](const DirectoryEntry& entry) {
      names[entry.name] = entry.fileid;
      return true;
    }));
  }
  int Create(const std::string& path, bool exclusive) override {
    return ErrorIn(client_->Create(path, 0644, exclusive, who_));
  }
  int Write(const std::string& path, const std::string& text) override {
    const auto file = client_->Open(path, kMayWrite, who_);
    if (!file) return static_cast<int>(file.error());
    const auto count = (*file)->PWrite(std::as_bytes(std::span(text)), 0);
    if (!count) return static_cast<int>(count.error());
    return static_cast<int>((*file)->Close());
  }
  int Truncate(const std::string& path, uint64_t size_bytes) override {
    return ErrorIn(client_->SetAttributesOf(path, {.size_bytes = size_bytes}, who_));
  }
  int Chmod(const std::string& path, uint32_t mode) override {
    return ErrorIn(client_->SetAttributesOf(path, {.mode = mode}, who_));
  }
  int Link(const std::string& from, const std::string& to) override {
    return static_cast<int>(client_->Link(from, to, who_));
  }
  int Rename(const std::string& from, const std::string& to) override {
    return static_cast<int>(client_->Rename(from, to, who_));
  }
  int Unlink(const std::string& path) override {
    return static_cast<int>(client_->Unlink(path, who_));
  }
  int MakeDirectory(const std::string& path) override {
    return ErrorIn(client_->MakeDirectory(path, 0755, who_));
  }
  int RemoveDirectory(const std::string& path) override {
    return static_cast<int>(client_->RemoveDirectory(path, who_));
  }

 private:
  template <class T>
  static int ErrorIn(const Result<T>& result) {
    return result ? 0 : static_cast<int>(result.error());
  }

  const Credential who_{0, 0};
  const std::unique_ptr<Client> client_;
};

}  // namespace

std::unique_ptr<Caller> NewPosixCaller(const std::string& root) {
  return std::make_unique<PosixCaller>(root);
}

std::unique_ptr<Caller> NewClientCaller(std::unique_ptr<Client> client) {
  return std::make_unique<ClientCaller>(std::move(client));
}

}  // namespace nfswalk::stress
