#include "nfsclient/cli/copy/unfinished_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace nfswalk::cli {
namespace {

constexpr int kNamesTried = 100;  // for one that is not taken

std::errc Errno() { return static_cast<std::errc>(errno); }

// Calls `create` with names until one is not taken; returns what it returned last, -1 with errno.
template <class Create>
int WithFreeName(std::string& name, Create&& create) {
  int result = -1;
  for (int i = 0; i < kNamesTried; ++i) {
    const std::string tried = UnfinishedName();
    result = create(tried.c_str());
    if (result < 0 && errno == EEXIST) continue;
    if (result >= 0) name = tried;
    break;
  }
  return result;
}

}  // namespace

UnfinishedFile::UnfinishedFile() : unfinished_([this] { Remove(); }) {}

UnfinishedFile::~UnfinishedFile() {
  const auto change = Unfinished::BeginChange();
  unfinished_.Forget();
  Remove();
}

void UnfinishedFile::Remove() const {
  if (!name_.empty()) unlinkat(directory_, name_.c_str(), 0);
}

std::errc UnfinishedFile::Create(int directory, uint32_t mode) {
  const auto change = Unfinished::BeginChange();
  directory_ = directory;
  const int fd = WithFreeName(name_, [directory, mode](const char* name) {
    return openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  });
  if (fd < 0) return Errno();
  descriptor_ = LocalDescriptor(fd);
  return {};
}

std::errc UnfinishedFile::CreateLink(int directory, const std::string& target) {
  const auto change = Unfinished::BeginChange();
  directory_ = directory;
  const int made = WithFreeName(
      name_, [&](const char* name) { return symlinkat(target.c_str(), directory, name); });
  if (made < 0) return Errno();
  descriptor_ = LocalDescriptor(openat(directory, name_.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat found{};
  if (!descriptor_.is_open() || fstat(descriptor_.get(), &found) != 0) return Errno();
  // Whoever may write in the directory may have put a link to another file there.
  return S_ISLNK(found.st_mode) && found.st_nlink == 1 ? std::errc{} : std::errc::file_exists;
}

std::errc UnfinishedFile::Write(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t written = write(descriptor_.get(), data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Errno();
    data = data.subspan(static_cast<size_t>(written));
  }
  return {};
}

std::errc UnfinishedFile::Skip(uint64_t bytes) {
  const off_t end = lseek(descriptor_.get(), static_cast<off_t>(bytes), SEEK_CUR);
  if (end < 0 || ftruncate(descriptor_.get(), end) != 0) return Errno();
  return {};
}

std::errc UnfinishedFile::Finish(const std::string& name) {
  if (const std::errc error = descriptor_.Sync(); error != std::errc{}) return error;
  if (const std::errc error = descriptor_.Close(); error != std::errc{}) return error;
  const auto change = Unfinished::BeginChange();
  if (renameat(directory_, name_.c_str(), directory_, name.c_str()) != 0) return Errno();
  name_.clear();
  return {};
}

}  // namespace nfswalk::cli
