#include "nfsclient/cli/copy/local_copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "nfsclient/cli/copy/file_acl.h"
#include "nfsclient/cli/copy/unfinished_file.h"
#include "nfsclient/cli/join_path.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::cli {
namespace {

using protocol::FileType;
using LastLink = LocalDescriptor::LastLink;

// Read at once. Pieces of what is large are in flight together.
constexpr uint64_t kBufferBytesMin = 64 * 1024;
constexpr uint64_t kBufferBytesMax = 8 * 1024 * 1024;
constexpr int kLinksMax = 40;  // MAXSYMLINKS
constexpr uint32_t kAllOthers = 0077;

std::errc Errno() { return static_cast<std::errc>(errno); }

// The mode that -p keeps. The owner is not kept, so the bits that would act in his name are not
// either.
uint32_t KeptMode(const Attributes& attributes) { return attributes.mode & 01777; }

// Returns the directory of the last component of `path`: "." for "x".
std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Whether another user may have put it there: in a sticky directory that all may write in, neither
// this user's nor the directory's owner's (may_follow_link() in fs/namei.c).
bool MayBePlanted(const struct stat& directory, const struct stat& found) {
  const bool is_shared = (~directory.st_mode & (S_ISVTX | S_IWOTH)) == 0;
  return is_shared && found.st_uid != geteuid() && found.st_uid != directory.st_uid;
}

// Returns the text of the link `name`, "" for what is none. permission_denied for one that may be
// planted, since readlink(2) does not go through may_follow_link().
Result<std::string> TargetOf(int directory, const std::string& name) {
  const LocalDescriptor link(openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat found{}, parent{};
  if (!link.is_open() || fstat(link.get(), &found) != 0 || fstat(directory, &parent) != 0) {
    return std::unexpected(Errno());
  }
  if (!S_ISLNK(found.st_mode)) return "";
  if (MayBePlanted(parent, found)) return std::unexpected(std::errc::permission_denied);
  std::array<char, PATH_MAX> text;
  const ssize_t length = readlinkat(link.get(), "", text.data(), text.size());
  if (length < 0) return std::unexpected(Errno());
  return std::string(text.data(), static_cast<size_t>(length));
}

// Returns the file that is replaced (O_PATH), none where that is a link, or the name is free.
// Errors: what cannot be replaced.
Result<LocalDescriptor> Replaced(int directory, const std::string& name) {
  LocalDescriptor held(openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!held.is_open() && errno == ENOENT) return LocalDescriptor();
  struct stat found{}, parent{};
  if (!held.is_open() || fstat(held.get(), &found) != 0 || fstat(directory, &parent) != 0) {
    return std::unexpected(Errno());
  }
  if (S_ISDIR(found.st_mode)) return std::unexpected(std::errc::is_a_directory);
  if (S_ISLNK(found.st_mode)) return LocalDescriptor();
  if (!S_ISREG(found.st_mode)) return std::unexpected(std::errc::file_exists);
  // A file that another user has planted says nothing about who may read the copy.
  if (MayBePlanted(parent, found)) return LocalDescriptor();
  return held;
}

bool IsEmpty(int directory) {
  const int listed = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const stream = listed >= 0 ? fdopendir(listed) : nullptr;
  if (stream == nullptr) {
    if (listed >= 0) close(listed);
    return false;
  }
  bool is_empty = true;
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") is_empty = false;
  }
  closedir(stream);
  return is_empty;
}

// Whether the directory is this user's.
bool IsOwn(int directory) {
  struct stat found{};
  return fstat(directory, &found) == 0 && found.st_uid == geteuid();
}

}  // namespace

// Gets its mode and times when the last copy in it has ended.
class LocalCopy::Directory {
 public:
  // `made`: the copy has made it, or what had its name before this was opened.
  Directory(Session& session, LocalDescriptor opened, const Place& place, bool made)
      : is_own(IsOwn(opened.get())),
        is_new(made && is_own && IsEmpty(opened.get())),
        gives_rights(!made && (place.owner == nullptr || place.owner->gives_rights)),
        descriptor(std::move(opened)),
        path(place.path),
        session_(session),
        parent_(place.owner) {}
  ~Directory() {
    if (source_path_.empty()) return;
    std::errc error{};
    try {
      error = Finish();
    } catch (const std::bad_alloc&) {
      error = std::errc::not_enough_memory;
    }
    // Once for all names in it, also if it keeps its mode.
    if (const std::errc lost = descriptor.Sync(); error == std::errc{}) error = lost;
    if (error != std::errc{}) session_.FailLocally(source_path_, path, error);
  }

  void Leave(std::string source_path, std::optional<uint32_t> mode,
             std::optional<Attributes> times) {
    source_path_ = std::move(source_path);
    mode_ = mode;
    times_ = std::move(times);
  }

  // Copies the extended attributes; the rights follow at the end. Preconditions: it was left, with
  // a mode of its owner's alone.
  void Keep(CopySource& source, const TreeEntry& entry) try {
    const auto xattrs = source.XattrsOfDirectory(entry);
    if (!xattrs) {
      return session_.FailToKeep(entry.path, path, "extended attributes and rights",
                                 xattrs.error());
    }
    CopyXattrs(session_, *xattrs, entry.path, SetsXattrsOf(descriptor.get()), path);
    ReportDefaultAcl(session_, *xattrs, entry.path, path);
    rights_ = RightsOf(session_, *xattrs, entry.path, KeptMode(entry.attributes));
    if (!rights_.acl) mode_ = rights_.mode;
  } catch (const std::bad_alloc&) {
    session_.FailLocally(entry.path, path, std::errc::not_enough_memory);
  }

  const bool is_own;
  // The one that the copy has made, as far as it shows. Another user who may write above can have
  // moved another one under the name. On a file system where new files get another owner it is none.
  const bool is_new;
  // It was there before, as all above it: so may be a file whose rights the copy takes that replaces
  // it.
  const bool gives_rights;
  const LocalDescriptor descriptor;
  const std::string path;

 private:
  std::errc Finish() {
    std::errc error{};
    if (mode_) error = times_ ? descriptor.SetModeAlone(*mode_) : descriptor.SetMode(*mode_);
    if (error == std::errc{} && times_) error = descriptor.SetTimes(*times_);
    if (error != std::errc{} || !rights_.acl) return error;
    return SetRights(
        session_, rights_, source_path_, SetsXattrsOf(descriptor.get()),
        [this](uint32_t mode) { return descriptor.SetMode(mode); }, path);
  }

  Session& session_;
  const std::shared_ptr<Directory> parent_;  // ends later
  std::string source_path_;                  // "": was not left
  std::optional<uint32_t> mode_;
  std::optional<Attributes> times_;
  FileRights rights_;  // with an ACL: it is its owner's alone until it has that
};

LocalCopy::LocalCopy(Session& session, CopySource& source, TaskThreads& threads, Place start,
                     bool preserve)
    : session_(session),
      source_(source),
      threads_(threads),
      start_(std::move(start)),
      preserve_(preserve) {}

void LocalCopy::Enter(const TreeEntry& entry) {
  if (entry.depth > lost_depth_) return;
  const Result<Place> place = PlaceOf(entry);
  if (!place) {
    return entry.depth == 0 ? session_.FailLocally(entry.path, start_.path, place.error())
                            : session_.Fail(entry.path, place.error());
  }
  switch (entry.attributes.type) {
    case FileType::kDirectory:
      return MakeDirectory(entry, *place);
    case FileType::kRegular:
      session_.console().Expect(entry.attributes.size_bytes);
      threads_.Run([this, entry, place = *place] { CopyFile(entry, place); });
      return;
    case FileType::kSymlink:
      threads_.Run([this, entry, place = *place] { CopyLink(entry, place); });
      return;
    default:
      return session_.Fail(entry.path, std::errc::operation_not_supported);
  }
}

bool LocalCopy::GivesRights(const Place& place) {
  return place.owner == nullptr || place.owner->gives_rights;
}

// Errors below the start: invalid_argument for a name that no file can have here, or that leads
// elsewhere.
Result<LocalCopy::Place> LocalCopy::PlaceOf(const TreeEntry& entry) {
  if (entry.depth == 0) {
    return start_.directory < 0 ? NamedPlace(entry.attributes.type) : start_;
  }
  const std::string& name = entry.name;
  if (name == "." || name == ".." || protocol::CheckName(name) != std::errc{}) {
    return std::unexpected(std::errc::invalid_argument);
  }
  const auto& inside = inside_.back();
  return Place{inside->descriptor.get(), name, JoinPath(inside->path, name), inside};
}

// The links of a path that the user named are followed, the last one to the file it leads to.
Result<LocalCopy::Place> LocalCopy::NamedPlace(FileType type) {
  std::string path = start_.path;
  if (type == FileType::kDirectory) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  } else if (path.ends_with('/')) {
    struct stat found{};
    return std::unexpected(lstat(path.c_str(), &found) != 0 ? Errno() : std::errc::is_a_directory);
  }
  std::string step = path;  // from `named_in_`, where that is open
  for (int links = 0; links <= kLinksMax; ++links) {
    auto directory = LocalDescriptor::OpenDirectory(
        named_in_.is_open() ? named_in_.get() : AT_FDCWD, DirectoryOf(step), LastLink::kFollow);
    if (!directory) return std::unexpected(directory.error());
    named_in_ = std::move(*directory);
    const std::string name = step.substr(step.rfind('/') + 1);
    Result<std::string> target = "";
    if (type == FileType::kRegular) target = TargetOf(named_in_.get(), name);
    // A new name is made where the user named it, not where a link leads.
    const bool is_new = !target && target.error() == std::errc::no_such_file_or_directory;
    if (is_new && links == 0) target = "";
    if (!target) return std::unexpected(target.error());
    if (target->empty()) return Place{named_in_.get(), name, path};
    step = *std::move(target);
    path = step.starts_with('/') ? step : JoinPath(DirectoryOf(path), step);
  }
  return std::unexpected(std::errc::too_many_symbolic_link_levels);
}

void LocalCopy::MakeDirectory(const TreeEntry& entry, const Place& place) {
  // With -p of its owner alone until its entries are there and it has its times. Else as it stays,
  // which the umask or a default ACL decides, too, but for rights that its owner is to lose.
  const mode_t mode = preserve_ ? 0700 : (entry.attributes.mode & 0777) | 0700;
  const bool made = mkdirat(place.directory, place.name.c_str(), mode) == 0;
  std::errc error = made ? std::errc{} : Errno();
  if (made || error == std::errc::file_exists) {
    auto directory = LocalDescriptor::OpenDirectory(place.directory, place.name, LastLink::kRefuse);
    if (directory) {
      auto entered = std::make_shared<Directory>(session_, std::move(*directory), place, made);
      // Another user's says nothing about who may read the copy.
      const bool is_planted =
          !GivesRights(place) && place.owner->is_own && !entered->is_own;
      if (!is_planted) {
        inside_.push_back(std::move(entered));
        return Report(entry, place, 0);
      }
    }
    error = directory ? protocol::kStale : directory.error();
  }
  lost_depth_ = entry.depth;
  session_.FailLocally(entry.path, place.path, error);
}

void LocalCopy::Leave(const TreeEntry& directory) {
  if (directory.depth > lost_depth_) return;
  if (directory.depth == lost_depth_) {
    lost_depth_ = std::numeric_limits<size_t>::max();
    return;
  }
  const std::shared_ptr<Directory> made = std::move(inside_.back());
  inside_.pop_back();
  const Attributes& attributes = directory.attributes;
  // One that another user has moved there keeps its mode.
  const bool was_moved = made->is_own && !made->is_new && !made->gives_rights;
  if (preserve_ && !was_moved) {
    made->Leave(directory.path, KeptMode(attributes) & ~kAllOthers, attributes);
    threads_.Run([this, made, directory] { made->Keep(source_, directory); },
                 TaskThreads::Turn::kFirst);
    return;
  }
  std::optional<uint32_t> mode;
  struct stat now{};
  const bool loses_rights = made->is_new && (~attributes.mode & 0700) != 0;
  if (loses_rights && fstat(made->descriptor.get(), &now) == 0) {
    mode = now.st_mode & 07777 & (attributes.mode | ~0700U);
  }
  made->Leave(directory.path, mode, std::nullopt);
}

// The copy is made without extended attributes, or an ACL, that cannot be read or kept.
std::errc LocalCopy::Keep(const TreeEntry& entry, const Place& place, const SourceFile& source,
                          UnfinishedFile& local) {
  const XattrSetter set = local.SetsXattrs();
  CopyXattrs(session_, source.xattrs, entry.path, set, place.path);
  const FileRights rights =
      RightsOf(session_, source.xattrs, entry.path, KeptMode(source.attributes));
  std::errc error = local.SetModeAlone(rights.acl ? rights.mode & ~kAllOthers : rights.mode);
  if (error == std::errc{}) error = local.SetTimes(source.attributes);
  if (error != std::errc{} || !rights.acl) return error;
  const auto set_mode = [&](uint32_t mode) { return local.SetMode(mode); };
  return SetRights(session_, rights, entry.path, set, set_mode, place.path);
}

void LocalCopy::CopyFile(const TreeEntry& entry, const Place& place) try {
  if (session_.done()) return;
  const auto fail = [&](std::errc error) { session_.FailLocally(entry.path, place.path, error); };
  // Elsewhere another has put it there since.
  auto replaced = GivesRights(place) ? Replaced(place.directory, place.name) : Result<LocalDescriptor>();
  if (!replaced) return fail(replaced.error());
  if (preserve_) *replaced = LocalDescriptor();
  const auto source = source_.Open(entry);
  if (!source) return session_.Fail(entry.path, source.error());
  const Attributes& attributes = source->attributes;
  UnfinishedFile local;
  // Its owner's alone until it has rights of its own.
  const bool is_as_made = !preserve_ && !replaced->is_open();
  const uint32_t mode = is_as_made ? attributes.mode & 0777 : 0600;
  if (const std::errc error = local.Create(place.directory, mode); error != std::errc{}) {
    return fail(error);
  }
  std::vector<std::byte> room(
      std::clamp(attributes.size_bytes + 1, kBufferBytesMin, kBufferBytesMax));
  const CopiedData copied = CopyData(
      *source, room,
      [&](uint64_t bytes) {
        session_.console().Advance(bytes, "bytes");
        return local.Skip(bytes);
      },
      [&](std::span<const std::byte> data) {
        session_.console().Advance(data.size(), "bytes");
        return local.Write(data);
      });
  if (copied.failed != std::errc{}) return session_.Fail(entry.path, copied.failed);
  if (copied.refused != std::errc{}) return fail(copied.refused);
  std::errc error{};
  if (preserve_) {
    error = Keep(entry, place, *source, local);
  } else if (replaced->is_open()) {
    error = local.TakeRights(place.name, *replaced);
    // It is gone, or another has put his there.
    if (error == std::errc::no_such_file_or_directory) error = {};
    *replaced = LocalDescriptor();  // an NFS client would hide one that is open
  }
  if (error == std::errc{}) error = local.Finish(place.name);
  if (error != std::errc{}) return fail(error);
  Report(entry, place, copied.size_bytes);
} catch (const std::bad_alloc&) {
  session_.FailLocally(entry.path, place.path, std::errc::not_enough_memory);
}

// The place of a link is itself, wherever a link leads that is there already.
void LocalCopy::CopyLink(const TreeEntry& entry, const Place& place) try {
  const auto text = source_.ReadLink(entry);
  if (!text) return session_.Fail(entry.path, text.error());
  std::errc error{};
  if (const auto replaced = Replaced(place.directory, place.name); !replaced) {
    error = replaced.error();
  }
  UnfinishedFile local;
  if (error == std::errc{}) error = local.CreateLink(place.directory, *text);
  if (error == std::errc{} && preserve_) error = local.SetTimes(entry.attributes);
  if (error == std::errc{}) error = local.Finish(place.name);
  if (error != std::errc{}) return session_.FailLocally(entry.path, place.path, error);
  Report(entry, place, text->size());
} catch (const std::bad_alloc&) {
  session_.FailLocally(entry.path, place.path, std::errc::not_enough_memory);
}

std::errc LocalCopy::Sync() const { return named_in_.Sync(); }

void LocalCopy::Report(const TreeEntry& entry, const Place& place, uint64_t size_bytes) {
  if (!session_.json()) return;
  JsonObject object = PathJson(entry.path);
  AddBytes(object, "to", place.path);
  session_.Print(object.Set("type", TypeName(entry.attributes.type)).Set("size_bytes", size_bytes));
}

}  // namespace nfswalk::cli
