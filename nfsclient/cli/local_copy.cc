#include "nfsclient/cli/local_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>

#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/link_target.h"
#include "nfsclient/cli/unfinished_file.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::cli {
namespace {

using protocol::FileType;

constexpr size_t kPieceBytes = 1024 * 1024;

std::errc Errno() { return static_cast<std::errc>(errno); }

uint32_t ProcessUmask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

// Where the last component of `path` is: "." for "x".
std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool IsDirectory(const std::string& path, bool follow) {
  struct stat found {};
  return fstatat(AT_FDCWD, path.c_str(), &found, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(found.st_mode);
}

}  // namespace

LocalCopy::LocalCopy(Session& session, std::string target, bool preserve)
    : session_(session), start_(std::move(target)), preserve_(preserve), umask_(ProcessUmask()) {}

void LocalCopy::Enter(const TreeEntry& entry) {
  if (entry.depth > lost_depth_) return;
  const std::string target = TargetOf(entry);
  if (target.empty()) return session_.Fail(entry.path, std::errc::invalid_argument);
  switch (entry.attributes.type) {
    case FileType::kDirectory:
      return MakeDirectory(entry, target);
    case FileType::kRegular:
      return CopyFile(entry, target);
    case FileType::kSymlink:
      return CopyLink(entry, target);
    default:
      return session_.Fail(entry.path, std::errc::operation_not_supported);
  }
}

// "" for a name that no file can have here, or that leads elsewhere.
std::string LocalCopy::TargetOf(const TreeEntry& entry) const {
  if (entry.depth == 0) return start_;
  const std::string_view name = std::string_view(entry.path).substr(entry.path.rfind('/') + 1);
  if (name == "." || name == ".." || protocol::CheckName(name) != std::errc{}) return {};
  return JoinPath(inside_.back().path, name);
}

void LocalCopy::MakeDirectory(const TreeEntry& entry, const std::string& target) {
  // Of its owner alone until its entries are there.
  const bool made = mkdir(target.c_str(), 0700) == 0;
  const std::errc error = made ? std::errc{} : Errno();
  if (made || (error == std::errc::file_exists && IsDirectory(target, entry.depth == 0))) {
    inside_.push_back({target, made});
    return Report(entry, target, 0);
  }
  lost_depth_ = entry.depth;
  session_.FailLocally(entry.path, target,
                       error == std::errc::file_exists ? std::errc::not_a_directory : error);
}

void LocalCopy::Leave(const TreeEntry& directory) {
  if (directory.depth > lost_depth_) return;
  if (directory.depth == lost_depth_) {
    lost_depth_ = std::numeric_limits<size_t>::max();
    return;
  }
  const Directory made = std::move(inside_.back());
  inside_.pop_back();
  const Attributes& attributes = directory.attributes;
  if (made.is_new || preserve_) {
    if (chmod(made.path.c_str(), ModeOf(attributes)) != 0) {
      return session_.FailLocally(directory.path, made.path, Errno());
    }
  }
  if (!preserve_) return;
  const std::array<timespec, 2> times{
      timespec{attributes.atime.seconds, static_cast<long>(attributes.atime.nanoseconds)},
      timespec{attributes.mtime.seconds, static_cast<long>(attributes.mtime.nanoseconds)}};
  if (utimensat(AT_FDCWD, made.path.c_str(), times.data(), 0) != 0) {
    session_.FailLocally(directory.path, made.path, Errno());
  }
}

std::errc LocalCopy::FindPlace(size_t depth, std::string& target) const {
  struct stat found {};
  if (lstat(target.c_str(), &found) != 0) {
    return errno == ENOENT && !target.ends_with('/') ? std::errc{} : Errno();
  }
  if (S_ISLNK(found.st_mode) && depth == 0) {
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(target.c_str(), nullptr),
                                                           &std::free);
    if (real == nullptr || lstat(real.get(), &found) != 0) return Errno();
    target = real.get();
  }
  if (S_ISDIR(found.st_mode)) return std::errc::is_a_directory;
  return S_ISREG(found.st_mode) || S_ISLNK(found.st_mode) ? std::errc{} : std::errc::file_exists;
}

void LocalCopy::CopyFile(const TreeEntry& entry, std::string target) {
  const auto fail = [&](std::errc error) { session_.FailLocally(entry.path, target, error); };
  if (const std::errc error = FindPlace(entry.depth, target); error != std::errc{}) {
    return fail(error);
  }
  const auto file = session_.client().Open(entry.path, kMayRead, session_.credential());
  if (!file) return session_.Fail(entry.path, file.error());
  UnfinishedFile local;
  if (const std::errc error = local.Create(DirectoryOf(target)); error != std::errc{}) {
    return fail(error);
  }
  std::vector<std::byte> room(kPieceBytes);
  uint64_t offset_bytes = 0;
  for (;;) {
    const auto count = (*file)->PRead(room, offset_bytes);
    if (!count) return session_.Fail(entry.path, count.error());
    if (*count == 0) break;
    if (const std::errc error = local.Write({room.data(), *count}); error != std::errc{}) {
      return fail(error);
    }
    offset_bytes += *count;
    session_.console().Advance(*count, "bytes");
  }
  std::errc error = local.SetMode(ModeOf(entry.attributes));
  if (error == std::errc{} && preserve_) error = local.SetTimes(entry.attributes);
  if (error == std::errc{}) error = local.Finish(target);
  if (error != std::errc{}) return fail(error);
  Report(entry, target, offset_bytes);
}

void LocalCopy::CopyLink(const TreeEntry& entry, std::string target) {
  const auto text = ReadLinkTarget(session_, entry.path);
  if (!text) return session_.Fail(entry.path, text.error());
  // The place of a link is itself, wherever a link leads that is there already.
  std::errc error = FindPlace(entry.depth + 1, target);
  UnfinishedFile local;
  if (error == std::errc{}) error = local.CreateLink(DirectoryOf(target), *text);
  if (error == std::errc{} && preserve_) error = local.SetTimes(entry.attributes);
  if (error == std::errc{}) error = local.Finish(target);
  if (error != std::errc{}) return session_.FailLocally(entry.path, target, error);
  Report(entry, target, text->size());
}

// The owner is not kept, so the bits that would act in his name are not either.
uint32_t LocalCopy::ModeOf(const Attributes& attributes) const {
  return preserve_ ? attributes.mode & 01777 : attributes.mode & 0777 & ~umask_;
}

void LocalCopy::Report(const TreeEntry& entry, const std::string& target, uint64_t size_bytes) {
  if (!session_.json()) return;
  JsonObject object = PathJson(entry.path);
  AddBytes(object, "to", target);
  session_.Print(object.Set("type", TypeName(entry.attributes.type)).Set("size_bytes", size_bytes));
}

}  // namespace nfswalk::cli
