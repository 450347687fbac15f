#include "tests/faults/load_worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <span>
#include <utility>

namespace nfswalk::faults {

using protocol::FileType;

namespace {

constexpr std::errc kNoEnt = std::errc::no_such_file_or_directory;
constexpr std::errc kExists = std::errc::file_exists;

constexpr uint32_t kNamesPerDirectory = 5;
constexpr uint32_t kDirectories = 3;
constexpr uint32_t kTextBytesMax = 600;
constexpr uint32_t kWorkersMax = 4;
constexpr int kFailuresShownMax = 5;

std::string MessageOf(std::errc error) {
  return error == kOk ? "success" : std::make_error_code(error).message();
}

template <class T>
std::errc ErrorOf(const Result<T>& result) {
  return result ? kOk : result.error();
}

}  // namespace

LoadWorker::LoadWorker(Client& client, std::string directory, std::string backing, uint32_t number,
                       const FaultCounts& faults, LoadTerms terms)
    : client_(client),
      directory_(std::move(directory)),
      backing_(std::move(backing)),
      own_("t" + std::to_string(number)),
      mark_(std::to_string(number) + "."),
      credential_(1000 + number, 100),
      faults_(faults),
      terms_(terms),
      model_(own_, "shared", mark_),
      random_(number + 1) {}

void LoadWorker::Begin() {
  const std::string held = own_ + "/held";
  // A soft mount of a slow server times out without a fault, and may have made the directory.
  for (bool again = false;; again = true) {
    const std::errc error = ErrorOf(client_.MakeDirectory(Full(own_), 0755, credential_));
    if (error == kOk || (again && error == std::errc::file_exists)) break;
    ASSERT_TRUE(terms_.soft && error == std::errc::timed_out) << MessageOf(error);
  }
  Result<LookupResult> made;
  do {
    made = client_.Create(Full(held), 0600, /*exclusive=*/false, credential_);
  } while (terms_.soft && !made && made.error() == std::errc::timed_out);
  ASSERT_TRUE(made.has_value()) << MessageOf(made.error());
  auto node = std::make_shared<Node>();
  node->mode = 0600;
  node->fileid = made->attributes.fileid;
  model_.Add(held, node);
}

void LoadWorker::AwaitDone(uint64_t steps) const {
  for (uint64_t now = done(); now < steps; now = done()) done_.wait(now);
}

void LoadWorker::Step() {
  using Operation = void (LoadWorker::*)();
  static constexpr Operation kOperations[] = {
      &LoadWorker::Create,        &LoadWorker::Create,          &LoadWorker::Create,
      &LoadWorker::MakeDirectory, &LoadWorker::MakeDirectory,   &LoadWorker::RemoveDirectory,
      &LoadWorker::MakeSymlink,   &LoadWorker::MakeSymlink,     &LoadWorker::Link,
      &LoadWorker::Link,          &LoadWorker::Rename,          &LoadWorker::Rename,
      &LoadWorker::Rename,        &LoadWorker::RenameDirectory, &LoadWorker::Unlink,
      &LoadWorker::Unlink,        &LoadWorker::SetMode,         &LoadWorker::Truncate,
      &LoadWorker::StatAny,       &LoadWorker::StatAny,         &LoadWorker::StatTarget,
      &LoadWorker::Access,        &LoadWorker::Access,          &LoadWorker::ReadLink,
      &LoadWorker::List,          &LoadWorker::WriteAndRead,    &LoadWorker::WriteAndRead,
      &LoadWorker::UseHeld,       &LoadWorker::StatOthers,
  };
  (this->*kOperations[Draw(std::size(kOperations))])();
  done_.fetch_add(1);
  done_.notify_all();
}

bool LoadWorker::Expect(const char* what, const std::string& path, Errc expected,
                        const std::function<Errc()>& call, Tolerated otherwise) {
  const uint64_t ended = faults_.ended.load();
  const Errc got = call();
  const bool faulted = faults_.begun.load() != ended;
  if (got == expected) return got == kOk;
  if (terms_.soft && (got == std::errc::timed_out || got == std::errc::io_error)) {
    Resynchronize();
  } else if (faulted && otherwise == Tolerated::kExistsAsUnrecognized && terms_.server_dies &&
             got == kExists) {
    RemoveUnrecognized(path);
  } else if (!faulted || otherwise != Tolerated::kSucceedsAsRetried || got != kOk) {
    Fail(what, path,
         MessageOf(got) + " instead of " + MessageOf(expected) + (faulted ? ", met a fault" : ""));
  }
  return false;
}

// After the reply to another call the faulted one has no later effect: see cutting_proxy.h.
void LoadWorker::Resynchronize() {
  ++unknown_outcomes_;
  held_.reset();
  while (client_.ReadDir(Full(own_), credential_, [](const auto&) { return true; }) != kOk) {
  }
  model_.Reload(backing_);
}

void LoadWorker::RemoveUnrecognized(const std::string& path) {
  ++unrecognized_creates_;
  Errc removed = client_.Unlink(Full(path), credential_);
  if (removed == std::errc::is_a_directory) {
    removed = client_.RemoveDirectory(Full(path), credential_);
  }
  if (removed != kOk) Fail("removing an unrecognized name", path, MessageOf(removed));
}

void LoadWorker::Fail(const char* what, const std::string& path, const std::string& how) {
  if (failures_++ < kFailuresShownMax) {
    ADD_FAILURE() << "step " << done() << " of " << own_ << ": " << what << " " << path << ": "
                  << how;
  }
}

void LoadWorker::ExpectAttributes(const char* what, const std::string& path, Node& node,
                                  const Attributes& found) {
  if (node.fileid == 0) node.fileid = found.fileid;
  const auto expect = [&](const char* of, uint64_t got, uint64_t expected) {
    if (got == expected) return;
    Fail(what, path,
         std::string(of) + " " + std::to_string(got) + " instead of " + std::to_string(expected));
  };
  expect("file id", found.fileid, node.fileid);
  expect("type", static_cast<uint64_t>(found.type), static_cast<uint64_t>(node.type));
  if (node.type == FileType::kSymlink) return;
  expect("mode", found.mode, node.mode);
  if (node.type == FileType::kDirectory) return;
  expect("size", found.size_bytes, node.text.size());
  expect("links", found.nlink, node.links);
}

LoadWorker::Errc LoadWorker::Reachable(const std::string& path, Errc otherwise) const {
  return model_.HasDirectoryOf(path) ? otherwise : kNoEnt;
}

std::string LoadWorker::DrawDirectory() { return own_ + "/d" + std::to_string(Draw(kDirectories)); }

std::string LoadWorker::DrawName() {
  const std::string name = "n" + std::to_string(Draw(kNamesPerDirectory));
  switch (Draw(3)) {
    case 0:
      return own_ + "/" + name;
    case 1:
      return "shared/" + mark_ + name;
    default:
      return DrawDirectory() + "/" + name;
  }
}

std::string LoadWorker::DrawFile() {
  const std::string path = DrawName();
  const NodeRef node = model_.Find(path);
  return node != nullptr && node->type == FileType::kRegular ? path : "";
}

void LoadWorker::Create() {
  const std::string path = DrawName();
  const uint32_t mode = 0600 | Draw(0200);
  const Errc expected = Reachable(path, model_.IsThere(path) ? kExists : kOk);
  auto node = std::make_shared<Node>();
  node->mode = mode;
  const auto call = [&] {
    const auto made = client_.Create(Full(path), mode, true, credential_);
    if (made && expected == kOk) ExpectAttributes("Create", path, *node, made->attributes);
    return ErrorOf(made);
  };
  if (Expect("Create", path, expected, call, Tolerated::kExistsAsUnrecognized))
    model_.Add(path, node);
}

void LoadWorker::MakeDirectory() {
  const std::string path = DrawDirectory();
  const bool there = model_.IsThere(path);
  auto node = std::make_shared<Node>();
  node->type = FileType::kDirectory;
  node->mode = 0750;
  const auto call = [&] {
    const auto made = client_.MakeDirectory(Full(path), node->mode, credential_);
    if (made && !there) ExpectAttributes("MakeDirectory", path, *node, made->attributes);
    return ErrorOf(made);
  };
  if (Expect("MakeDirectory", path, there ? kExists : kOk, call,
             Tolerated::kExistsAsUnrecognized)) {
    model_.Add(path, node);
  }
}

void LoadWorker::RemoveDirectory() {
  const std::string path = DrawDirectory();
  const bool there = model_.IsThere(path);
  const Errc expected = !there                          ? kNoEnt
                        : !model_.NamesIn(path).empty() ? std::errc::directory_not_empty
                                                        : kOk;
  const auto call = [&] { return client_.RemoveDirectory(Full(path), credential_); };
  const Tolerated otherwise = there ? Tolerated::kNothing : Tolerated::kSucceedsAsRetried;
  if (Expect("RemoveDirectory", path, expected, call, otherwise)) model_.Remove(path);
}

void LoadWorker::MakeSymlink() {
  const std::string path = DrawName();
  auto node = std::make_shared<Node>();
  node->type = FileType::kSymlink;
  node->text =
      (path.starts_with("shared/") ? mark_ : "") + "n" + std::to_string(Draw(kNamesPerDirectory));
  const NodeRef known = model_.HasDirectoryOf(path) ? model_.Find(path) : nullptr;
  const auto call = [&] {
    const auto made = client_.MakeSymlink(node->text, Full(path), credential_);
    if (made && known == nullptr) ExpectAttributes("MakeSymlink", path, *node, made->attributes);
    return ErrorOf(made);
  };
  if (Expect("MakeSymlink", path, Reachable(path, known != nullptr ? kExists : kOk), call,
             Tolerated::kExistsAsUnrecognized)) {
    model_.Add(path, node);
  }
}

void LoadWorker::Link() {
  const std::string from = DrawFile();
  const std::string to = DrawName();
  if (from.empty()) return;
  const NodeRef node = model_.Find(from);
  const auto call = [&] { return client_.Link(Full(from), Full(to), credential_); };
  if (Expect("Link", to, Reachable(to, model_.IsThere(to) ? kExists : kOk), call,
             Tolerated::kExistsAsUnrecognized)) {
    ++node->links;
    model_.Add(to, node);
  }
}

void LoadWorker::Rename() {
  const std::string from = DrawName();
  const std::string to = DrawName();
  const bool there = model_.HasDirectoryOf(from) && model_.IsThere(from);
  const auto call = [&] { return client_.Rename(Full(from), Full(to), credential_); };
  // A missing source and an existing target look like a rename that was executed.
  const Tolerated otherwise =
      !there && model_.IsThere(to) ? Tolerated::kSucceedsAsRetried : Tolerated::kNothing;
  if (Expect("Rename", from + " -> " + to, Reachable(to, there ? kOk : kNoEnt), call, otherwise)) {
    model_.Rename(from, to);
  }
}

void LoadWorker::RenameDirectory() {
  const std::string from = DrawDirectory();
  const std::string to = DrawDirectory();
  const bool there = model_.IsThere(from);
  const bool full = from != to && !model_.NamesIn(to).empty();
  const auto call = [&] { return client_.Rename(Full(from), Full(to), credential_); };
  const Tolerated otherwise =
      !there && model_.IsThere(to) ? Tolerated::kSucceedsAsRetried : Tolerated::kNothing;
  const Errc expected = !there ? kNoEnt : full ? std::errc::directory_not_empty : kOk;
  if (Expect("Rename", from + " -> " + to, expected, call, otherwise)) model_.Rename(from, to);
}

void LoadWorker::Unlink() {
  const std::string path = DrawName();
  const bool there = model_.IsThere(path);
  const auto call = [&] { return client_.Unlink(Full(path), credential_); };
  const Tolerated otherwise = there ? Tolerated::kNothing : Tolerated::kSucceedsAsRetried;
  if (Expect("Unlink", path, there ? kOk : kNoEnt, call, otherwise)) model_.Remove(path);
}

void LoadWorker::SetMode() {
  const std::string path = DrawFile();
  if (path.empty()) return;
  const uint32_t mode = 0600 | Draw(0200);
  const auto call = [&] {
    const auto set = client_.SetAttributesOf(Full(path), {.mode = mode}, credential_);
    if (set && set->mode != mode) Fail("SetMode", path, "another mode in the answer");
    return ErrorOf(set);
  };
  if (Expect("SetMode", path, kOk, call)) model_.Find(path)->mode = mode;
}

void LoadWorker::Truncate() {
  const std::string path = DrawFile();
  if (path.empty()) return;
  const uint32_t size = Draw(kTextBytesMax);
  const auto call = [&] {
    const auto set = client_.SetAttributesOf(Full(path), {.size_bytes = size}, credential_);
    if (set && set->size_bytes != size) Fail("Truncate", path, "another size in the answer");
    return ErrorOf(set);
  };
  if (Expect("Truncate", path, kOk, call)) model_.Find(path)->text.resize(size);
}

void LoadWorker::StatAny() { StatName(Draw(4) == 0 ? DrawDirectory() : DrawName()); }

void LoadWorker::StatEverything() {
  for (uint32_t d = 0; d < kDirectories; ++d) StatName(own_ + "/d" + std::to_string(d));
  for (uint32_t n = 0; n < kNamesPerDirectory; ++n) {
    const std::string name = "n" + std::to_string(n);
    StatName(own_ + "/" + name);
    StatName("shared/" + mark_ + name);
    for (uint32_t d = 0; d < kDirectories; ++d) {
      StatName(own_ + "/d" + std::to_string(d) + "/" + name);
    }
  }
}

void LoadWorker::StatName(const std::string& path) {
  const NodeRef node = model_.HasDirectoryOf(path) ? model_.Find(path) : nullptr;
  (void)Expect("Stat", path, node != nullptr ? kOk : kNoEnt, [&] {
    const auto found = client_.Stat(Full(path), credential_, {.no_follow = true});
    if (found && node != nullptr) ExpectAttributes("Stat", path, *node, *found);
    return ErrorOf(found);
  });
}

void LoadWorker::StatTarget() {
  const std::string path = DrawName();
  const auto node = model_.Follow(path);
  (void)Expect("Stat through links", path, node ? kOk : node.error(), [&] {
    const auto found = client_.Stat(Full(path), credential_);
    if (found && node) ExpectAttributes("Stat through links", path, **node, *found);
    return ErrorOf(found);
  });
}

LoadWorker::Errc LoadWorker::Permission(const Node& node, uint32_t wanted) {
  return (node.mode >> 6 & wanted) == wanted ? kOk : std::errc::permission_denied;
}

void LoadWorker::Access() {
  const std::string path = DrawFile();
  if (path.empty()) return;
  const uint32_t wanted = 1 + Draw(7);
  (void)Expect("Access", path, Permission(*model_.Find(path), wanted),
               [&] { return client_.Access(Full(path), wanted, credential_); });
}

void LoadWorker::ReadLink() {
  const std::string path = DrawName();
  const NodeRef node = model_.HasDirectoryOf(path) ? model_.Find(path) : nullptr;
  const bool link = node != nullptr && node->type == FileType::kSymlink;
  const Errc expected = node == nullptr ? kNoEnt : link ? kOk : std::errc::invalid_argument;
  (void)Expect("ReadLink", path, expected, [&] {
    std::array<char, kTextBytesMax> text;
    const auto count = client_.ReadLink(Full(path), text, credential_);
    if (count && link && node->text != std::string_view(text.data(), *count)) {
      Fail("ReadLink", path, "leads elsewhere");
    }
    return ErrorOf(count);
  });
}

void LoadWorker::List() {
  const std::string directory = Draw(3) == 0 ? "shared" : Draw(2) == 0 ? own_ : DrawDirectory();
  const bool there = !directory.starts_with(own_ + "/") || model_.IsThere(directory);
  std::multiset<std::string> seen;
  const auto call = [&] {
    seen.clear();
    return client_.ReadDir(Full(directory), credential_, [&](const DirectoryEntry& entry) {
      if (directory != "shared" || entry.name.starts_with(mark_)) seen.insert(entry.name);
      return true;
    });
  };
  if (!Expect("ReadDir", directory, there ? kOk : kNoEnt, call)) return;
  const auto names = model_.NamesIn(directory);
  if (!std::ranges::equal(seen, names)) {
    Fail("ReadDir", directory,
         "lists " + std::to_string(seen.size()) + " names instead of " +
             std::to_string(names.size()) + ", or others");
  }
}

Result<std::unique_ptr<File>> LoadWorker::Open(const std::string& path) const {
  return client_.Open(Full(path), kMayRead | kMayWrite, credential_);
}

void LoadWorker::WriteAndReadThrough(File& file, const std::string& path, Node& node) {
  const std::string text(1 + Draw(kTextBytesMax / 2), static_cast<char>('a' + Draw(26)));
  const uint32_t at = Draw(kTextBytesMax / 2);
  const bool written = Expect("PWrite", path, kOk, [&] {
    const auto count = file.PWrite(std::as_bytes(std::span(text)), at);
    if (count && *count != text.size()) Fail("PWrite", path, "wrote less");
    return count ? file.Sync() : count.error();
  });
  if (!written) return;
  if (node.text.size() < at + text.size()) node.text.resize(at + text.size());
  node.text.replace(at, text.size(), text);
  std::array<char, 2 * kTextBytesMax> room;
  size_t length = 0;
  const bool read = Expect("PRead", path, kOk, [&] {
    const auto count = file.PRead(std::as_writable_bytes(std::span(room)), 0);
    length = count.value_or(0);
    return ErrorOf(count);
  });
  if (read && node.text != std::string_view(room.data(), length)) {
    Fail("PRead", path, "reads other data");
  }
}

void LoadWorker::WriteAndRead() {
  const std::string path = DrawFile();
  if (path.empty()) return;
  // An exclusive create whose SETATTR timed out leaves a file that no user may open.
  const Errc permitted = Permission(*model_.Find(path), kMayRead | kMayWrite);
  std::unique_ptr<File> file;
  const bool open = Expect("Open", path, permitted, [&] {
    auto opened = Open(path);
    if (opened) file = std::move(*opened);
    return ErrorOf(opened);
  });
  if (open) WriteAndReadThrough(*file, path, *model_.Find(path));
}

// Stays open for long, so that most faults meet an open file.
void LoadWorker::UseHeld() {
  const std::string path = own_ + "/held";
  if (held_ == nullptr || Draw(10) == 0) {
    (void)Expect("Open", path, kOk, [&] {
      auto opened = Open(path);
      if (opened) held_ = std::move(*opened);
      return ErrorOf(opened);
    });
  }
  if (held_ != nullptr) WriteAndReadThrough(*held_, path, *model_.Find(path));
}

// Names that other workers change are present or absent; no other error is right.
void LoadWorker::StatOthers() {
  const std::string number = std::to_string(Draw(kWorkersMax));
  const std::string name = "n" + std::to_string(Draw(kNamesPerDirectory));
  const std::string path =
      Draw(2) == 0 ? "shared/" + number + "." + name : "t" + number + "/" + name;
  (void)Expect("Stat of another's", path, kOk, [&] {
    const auto found = client_.Stat(Full(path), credential_, {.no_follow = true});
    return !found && found.error() == kNoEnt ? kOk : ErrorOf(found);
  });
}

}  // namespace nfswalk::faults
