#include "nfsclient/cli/copy/export_copy.h"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "nfsclient/cli/copy/file_acl.h"
#include "nfsclient/cli/copy/local_descriptor.h"
#include "nfsclient/cli/copy/unfinished_file.h"
#include "nfsclient/cli/join_path.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::cli {
namespace {

// Read and written at once. Pieces of what is large are in flight together.
constexpr uint64_t kBufferBytesMin = 64 * 1024;
constexpr uint64_t kBufferBytesMax = 4 * 1024 * 1024;

constexpr uint32_t kOwnerMayWrite = 0200;
constexpr uint32_t kOwnerMayAll = 0700;
constexpr uint32_t kAllOthers = 0077;

std::errc ErrorOf(const auto& result) { return result ? std::errc{} : result.error(); }

// Whether another user may have put `found` there: in a sticky directory that all may write in,
// neither this user's nor the directory's owner's.
bool MayBePlanted(const Node& directory, const Attributes& found, const Credential& who) {
  constexpr uint32_t kSticky = 01000, kOthersMayWrite = 0002;
  const auto place = directory.Stat("", who);
  if (!place) return true;
  const bool is_shared = (~place->mode & (kSticky | kOthersMayWrite)) == 0;
  return is_shared && found.uid != who.uid() && found.uid != place->uid;
}

// A directory that is made, or that has the name already; "": `parent` itself. With a node.
Result<LookupResult> MakeOrFind(Node& parent, const std::string& name, uint32_t mode,
                                const Credential& who, bool& is_new, bool& was_there) {
  Result<LookupResult> made = std::unexpected(std::errc::file_exists);
  if (!name.empty()) made = parent.MakeDirectory(name, mode, who);
  if (!made && made.error() != std::errc::file_exists) return made;
  is_new = made.has_value();
  was_there = !is_new;
  if (is_new && made->node != nullptr) return made;
  auto found = parent.Lookup(name, who, {.no_follow = true});
  if (!found) return found;
  if (found->node == nullptr) return std::unexpected(std::errc::no_such_file_or_directory);
  if (found->attributes.type != FileType::kDirectory) {
    return std::unexpected(std::errc::not_a_directory);
  }
  // Another user may have put his there since.
  is_new = is_new && IsSameFile(found->attributes, made->attributes);
  return found;
}

// A file or link of the export that will be `name`, removed unless Finish() is reached.
class UnfinishedExportFile {
 public:
  // `at_once`: it has its name before it is whole, as no other user can reach the directory yet.
  UnfinishedExportFile(Node& directory, std::string name, bool at_once,
                       const Credential& credential)
      : directory_(directory),
        final_name_(std::move(name)),
        at_once_(at_once),
        credential_(credential),
        unfinished_([this] { Remove(); }) {}
  ~UnfinishedExportFile() {
    const auto changing = Unfinished::BeginChange();
    unfinished_.Forget();
    Remove();
  }
  UnfinishedExportFile(const UnfinishedExportFile&) = delete;
  UnfinishedExportFile& operator=(const UnfinishedExportFile&) = delete;

  // `make(name)` makes it under a free name.
  template <typename Make>
  std::errc Create(Make make) {
    const auto changing = Unfinished::BeginChange();
    for (int tries = 0; tries < kNamesTried; ++tries) {
      const std::string name = at_once_ && tries == 0 ? final_name_ : UnfinishedName();
      const std::errc error = make(name);
      if (error == std::errc::file_exists) continue;
      if (error == std::errc{}) name_ = name;
      return error;
    }
    return std::errc::file_exists;
  }
  std::errc Finish() {
    const auto changing = Unfinished::BeginChange();
    std::errc error{};
    if (name_ != final_name_) {
      error = directory_.Rename(name_, directory_, final_name_, credential_);
    }
    if (error == std::errc{}) name_.clear();
    return error;
  }

 private:
  static constexpr int kNamesTried = 100;

  void Remove() {
    if (!name_.empty()) (void)directory_.Unlink(name_, credential_);
    name_.clear();
  }

  Node& directory_;
  const std::string final_name_;
  const bool at_once_;
  const Credential& credential_;
  std::string name_;  // changed within a BeginChange()
  Unfinished unfinished_;
};

}  // namespace

// Made durable in its modes and times when the last copy in it has ended.
class ExportCopy::Directory {
 public:
  Directory(Session& session, std::shared_ptr<Node> node)
      : session_(session), node_(std::move(node)) {}
  // One that Make() makes. `copy` outlives it.
  Directory(ExportCopy& copy, TreeEntry entry, Place place)
      : session_(copy.session_), copy_(&copy), entry_(std::move(entry)), place_(std::move(place)) {}
  ~Directory() {
    if (!at_end_) return;
    std::errc error{};
    try {
      error = Finish();
    } catch (const std::bad_alloc&) {
      error = std::errc::not_enough_memory;
    }
    if (error != std::errc{}) session_.FailLocally(entry_.path, place_.path, error);
  }

  // Returns whether it is there, once one thread has made it, and those above it, or has reported
  // that it cannot. Before what follows.
  bool Make() {
    std::call_once(made_, [this] {
      if (copy_ != nullptr && place_.directory->Make()) MakeThis();
    });
    return node_ != nullptr;
  }
  Node& node() { return *node_; }
  bool is_new() const { return is_new_; }
  // Whether it was there before the copy, as all above it: so may be a file whose rights the copy
  // takes that replaces it.
  bool gives_rights() const { return gives_rights_; }

  const std::string& path() const { return place_.path; }

 private:
  void MakeThis() try {
    std::optional<uint32_t> mode_at_end;
    bool was_there = false;
    const auto made = copy_->MakeDirectory(entry_, place_, is_new_, was_there, mode_at_end);
    gives_rights_ = was_there && place_.directory->gives_rights();
    if (!made) return session_.FailLocally(entry_.path, place_.path, made.error());
    if (mode_at_end) at_end_ = SetAttributes{.mode = mode_at_end};
    node_ = *made;
    if (copy_->settings_.preserve) Keep();
    copy_->Report(entry_, place_.path, 0);
  } catch (const std::bad_alloc&) {
    session_.FailLocally(entry_.path, place_.path, std::errc::not_enough_memory);
  }

  // Copies the extended attributes; the rights and the times follow at the end.
  void Keep() {
    at_end_ = copy_->FinalAttributes(entry_.attributes);
    const uint32_t mode = *at_end_->mode;
    at_end_->mode = mode & ~kAllOthers;
    const auto xattrs = copy_->settings_.source.XattrsOfDirectory(entry_);
    if (!xattrs) {
      return session_.FailToKeep(entry_.path, place_.path, "extended attributes and rights",
                                 xattrs.error());
    }
    const XattrSetter set = SetsXattrsOf(*node_, session_.credential());
    CopyXattrs(session_, *xattrs, entry_.path, set, place_.path);
    ReportDefaultAcl(session_, *xattrs, entry_.path, place_.path);
    rights_ = RightsOf(session_, *xattrs, entry_.path, mode);
    if (!rights_.acl) at_end_->mode = rights_.mode;
  }
  std::errc Finish() {
    const Credential& who = session_.credential();
    const std::errc error = ErrorOf(node_->SetAttributesOf("", *at_end_, who));
    if (error != std::errc{} || !rights_.acl) return error;
    return SetRights(
        session_, rights_, entry_.path, SetsXattrsOf(*node_, who),
        [&](uint32_t mode) { return ErrorOf(node_->SetAttributesOf("", {.mode = mode}, who)); },
        place_.path);
  }

  Session& session_;
  ExportCopy* const copy_ = nullptr;
  const TreeEntry entry_;
  const Place place_;  // holds the directory above, which ends later
  std::once_flag made_;
  std::shared_ptr<Node> node_;
  bool is_new_ = false;
  bool gives_rights_ = true;
  std::optional<SetAttributes> at_end_;
  FileRights rights_;  // with an ACL: it is its owner's alone until it has that
};

ExportCopy::ExportCopy(Session& session, const Settings& settings, std::shared_ptr<Node> directory,
                       std::string target, std::string path)
    : session_(session),
      settings_(settings),
      start_(std::make_shared<Directory>(session, std::move(directory))),
      target_(std::move(target)),
      path_(std::move(path)) {}

void ExportCopy::Enter(const TreeEntry& entry) {
  if (entry.depth > lost_depth_) return;
  Place place{start_, target_, path_};
  if (entry.depth > 0) {
    const std::string& name = entry.name;
    if (name == "." || name == ".." || protocol::CheckName(name) != std::errc{}) {
      return session_.Fail(entry.path, std::errc::invalid_argument);
    }
    place = {inside_.back(), name, JoinPath(inside_.back()->path(), name)};
  }
  switch (entry.attributes.type) {
    case FileType::kDirectory:
      return EnterDirectory(entry, place);
    case FileType::kRegular:
      session_.console().Expect(entry.attributes.size_bytes);
      settings_.threads.Run([this, entry, place] { CopyFile(entry, place); });
      return;
    case FileType::kSymlink:
      settings_.threads.Run([this, entry, place] { CopyLink(entry, place); });
      return;
    default:
      return session_.Fail(entry.path, std::errc::operation_not_supported);
  }
}

void ExportCopy::EnterDirectory(const TreeEntry& entry, const Place& place) {
  if (IsTarget(entry)) {
    lost_depth_ = entry.depth;
    return session_.Fail(entry.path, std::errc::invalid_argument);
  }
  const auto directory = std::make_shared<Directory>(*this, entry, place);
  // Before the walk goes on: it may meet the target.
  if (entry.depth == 0 && !directory->Make()) {
    lost_depth_ = entry.depth;
    return;
  }
  inside_.push_back(directory);
  if (entry.depth == 0) return;
  settings_.threads.Run([directory] { (void)directory->Make(); }, TaskThreads::Turn::kFirst);
}

// Preconditions: the place's directory is there.
Result<std::shared_ptr<Node>> ExportCopy::MakeDirectory(const TreeEntry& entry, const Place& place,
                                                        bool& is_new, bool& was_there,
                                                        std::optional<uint32_t>& mode_at_end) {
  const Credential& who = session_.credential();
  // With -p of its owner alone from the start.
  const uint32_t mode = settings_.preserve ? 0 : ModeOf(entry.attributes);
  auto found = MakeOrFind(place.directory->node(), place.name, mode | kOwnerMayAll, who, is_new,
                          was_there);
  if (!found) return std::unexpected(found.error());
  // Another user's, in a directory of the copy, says nothing about who may read that.
  if (!is_new && !place.directory->gives_rights() &&
      found->attributes.uid != place.directory->node().attributes().uid) {
    return std::unexpected(protocol::kStale);
  }
  if (is_new && !settings_.preserve) {
    // Only the owner may enter it until its entries are there.
    const uint32_t made = found->attributes.mode, hidden = made & ~kAllOthers;
    if (hidden != made) {
      const auto set = found->node->SetAttributesOf("", {.mode = hidden}, who);
      if (!set) return std::unexpected(set.error());
    }
    const uint32_t whole = made & (mode | ~kOwnerMayAll);
    if (whole != hidden) mode_at_end = whole;
  }
  if (entry.depth == 0) {
    target_id_ = {found->attributes.fsid, found->attributes.fileid};
    if (IsTarget(entry)) return std::unexpected(std::errc::invalid_argument);  // onto itself
  }
  // Asks for the rights once, not for each file that is made in it at the same time.
  (void)found->node->Access("", kMayWrite | kMayExecute, who);
  return std::shared_ptr<Node>(std::move(found->node));
}

// Whether the directory is the one that is made: a copy of it into itself would not end.
bool ExportCopy::IsTarget(const TreeEntry& entry) const {
  const std::pair id{entry.attributes.fsid, entry.attributes.fileid};
  return settings_.same_server && target_id_ == id;
}

void ExportCopy::Leave(const TreeEntry& directory) {
  if (directory.depth > lost_depth_) return;
  if (directory.depth == lost_depth_) {
    lost_depth_ = std::numeric_limits<size_t>::max();
    return;
  }
  inside_.pop_back();
}

// Returns the file that is replaced, without a value where that is a link, or the name is free.
// Errors: what cannot be replaced.
Result<std::optional<Attributes>> ExportCopy::Replaced(const Place& place) const {
  if (!place.directory->gives_rights()) return std::nullopt;
  const auto found =
      place.directory->node().Stat(place.name, session_.credential(), {.no_follow = true});
  if (!found && found.error() == std::errc::no_such_file_or_directory) return std::nullopt;
  if (!found) return std::unexpected(found.error());
  if (found->type == FileType::kDirectory) return std::unexpected(std::errc::is_a_directory);
  if (found->type != FileType::kRegular && found->type != FileType::kSymlink) {
    return std::unexpected(std::errc::file_exists);
  }
  if (found->type == FileType::kSymlink) return std::nullopt;
  // A file that another user has planted says nothing about who may read the copy.
  if (MayBePlanted(place.directory->node(), *found, session_.credential())) return std::nullopt;
  return *found;
}

// Writes the data of `source` to a new file, or has the server copy it; `end`: of that, with holes.
CopiedData ExportCopy::CopyContents(const SourceFile& source, File& file, uint64_t& end) {
  const auto advance = [&](uint64_t bytes) {
    end += bytes;
    session_.console().Advance(bytes, "bytes");
  };
  std::vector<std::byte> room(
      std::clamp(source.attributes.size_bytes + 1, kBufferBytesMin, kBufferBytesMax));
  // Until it fails: the data is read and written then, which says why.
  bool asks_server = source.of_export != nullptr;
  return CopyData(
      source, room,
      [&](uint64_t bytes) {
        advance(bytes);
        return std::errc{};
      },
      [&](std::span<const std::byte> data) {
        while (!data.empty()) {
          const auto written = file.PWrite(data, end);
          if (!written) return written.error();
          data = data.subspan(*written);
          advance(*written);
        }
        return std::errc{};
      },
      [&](uint64_t offset_bytes, uint64_t bytes) -> uint64_t {
        if (!asks_server) return 0;
        const auto copied = file.CopyFrom(*source.of_export, offset_bytes, end, bytes);
        asks_server = copied.has_value();
        advance(copied.value_or(0));
        return copied.value_or(0);
      });
}

void ExportCopy::CopyFile(const TreeEntry& entry, const Place& place) try {
  if (session_.done() || !place.directory->Make()) return;
  const auto fail = [&](std::errc error) { session_.FailLocally(entry.path, place.path, error); };
  const Credential& who = session_.credential();
  Node& node = place.directory->node();
  const auto source = settings_.source.Open(entry);
  if (!source) return session_.Fail(entry.path, source.error());
  const Attributes& attributes = source->attributes;
  const auto replaced = Replaced(place);
  if (!replaced) return fail(replaced.error());
  UnfinishedExportFile unfinished(node, place.name, place.directory->is_new(), who);
  // Its owner's alone until it has rights of its own; a new one has what the server makes of those
  // that it asks for, where a default ACL restricts them.
  SetAttributes at_end = FinalAttributes(attributes);
  const bool is_as_made = !settings_.preserve && !*replaced;
  const uint32_t mode = is_as_made ? *at_end.mode | kOwnerMayWrite : 0600;
  const uint32_t how = is_as_made ? kMayWrite | kModeAtOnce : kMayWrite;
  std::unique_ptr<File> file;
  std::errc error = unfinished.Create([&](const std::string& name) {
    auto made = node.CreateAndOpen(name, how, mode, /*exclusive=*/true, who);
    if (made) file = std::move(made->file);
    return ErrorOf(made);
  });
  if (error != std::errc{}) return fail(error);
  uint64_t end = 0;
  const CopiedData copied = CopyContents(*source, *file, end);
  if (copied.failed != std::errc{}) return session_.Fail(entry.path, copied.failed);
  if (copied.refused != std::errc{}) return fail(copied.refused);
  if (file->attributes().size_bytes < end) {  // a hole
    error = ErrorOf(file->SetAttributesOf({.size_bytes = end}));
  }
  if (error == std::errc{}) error = file->Sync();
  FileRights rights;
  if (error == std::errc{} && settings_.preserve) {
    // The copy is made without extended attributes, or an ACL, that cannot be read or kept.
    CopyXattrs(session_, source->xattrs, entry.path, SetsXattrsOf(*file), place.path);
    rights = RightsOf(session_, source->xattrs, entry.path, *at_end.mode);
    at_end.mode = rights.acl ? *at_end.mode & ~kAllOthers : rights.mode;
  }
  if (error == std::errc{} && *replaced && !settings_.preserve) {
    at_end = ReplacedAttributes(*file, **replaced);
  }
  const bool loses_rights = is_as_made && mode != *at_end.mode;
  if (loses_rights) at_end.mode = file->attributes().mode & ~kOwnerMayWrite;
  if (error == std::errc{} && (!is_as_made || loses_rights)) {
    error = ErrorOf(file->SetAttributesOf(at_end));
  }
  if (error == std::errc{} && rights.acl) {
    const auto set_mode = [&](uint32_t all) {
      return ErrorOf(file->SetAttributesOf({.mode = all}));
    };
    error = SetRights(session_, rights, entry.path, SetsXattrsOf(*file), set_mode, place.path);
  }
  if (error == std::errc{}) error = unfinished.Finish();
  if (error != std::errc{}) return fail(error);
  Report(entry, place.path, end);
} catch (const std::bad_alloc&) {
  session_.FailLocally(entry.path, place.path, std::errc::not_enough_memory);
}

void ExportCopy::CopyLink(const TreeEntry& entry, const Place& place) try {
  if (!place.directory->Make()) return;
  const Credential& who = session_.credential();
  Node& node = place.directory->node();
  const auto text = settings_.source.ReadLink(entry);
  if (!text) return session_.Fail(entry.path, text.error());
  std::errc error = ErrorOf(Replaced(place));
  UnfinishedExportFile unfinished(node, place.name, place.directory->is_new(), who);
  if (error == std::errc{}) {
    error = unfinished.Create(
        [&](const std::string& name) { return ErrorOf(node.MakeSymlink(*text, name, who)); });
  }
  if (error == std::errc{}) error = unfinished.Finish();
  if (error != std::errc{}) return session_.FailLocally(entry.path, place.path, error);
  Report(entry, place.path, text->size());
} catch (const std::bad_alloc&) {
  session_.FailLocally(entry.path, place.path, std::errc::not_enough_memory);
}

// The owner is not kept, so the bits that would act in his name are not either.
uint32_t ExportCopy::ModeOf(const Attributes& attributes) const {
  return settings_.preserve ? attributes.mode & 01777 : attributes.mode & 0777 & ~settings_.umask;
}

SetAttributes ExportCopy::FinalAttributes(const Attributes& attributes) const {
  SetAttributes set{.mode = ModeOf(attributes)};
  if (settings_.preserve) {
    set.atime = protocol::SetTime{attributes.atime};
    set.mtime = protocol::SetTime{attributes.mtime};
  }
  return set;
}

// Gives `file` the owner and group of the file that it replaces, as far as the server lets, and
// returns the attributes to set after that.
SetAttributes ExportCopy::ReplacedAttributes(File& file, const Attributes& replaced) const {
  const Attributes made = file.attributes();
  bool has_its_group = made.gid == replaced.gid;
  if (!has_its_group || made.uid != replaced.uid) {
    has_its_group = file.SetAttributesOf({.uid = replaced.uid, .gid = replaced.gid}) ||
                    has_its_group || file.SetAttributesOf({.gid = replaced.gid});
  }
  return {.mode = ModeOfReplacement(replaced.mode, has_its_group)};
}

void ExportCopy::Report(const TreeEntry& entry, const std::string& path, uint64_t size_bytes) {
  if (!session_.json()) return;
  JsonObject object = PathJson(entry.path);
  AddBytes(object, "to", path);
  session_.Print(object.Set("type", TypeName(entry.attributes.type)).Set("size_bytes", size_bytes));
}

}  // namespace nfswalk::cli
