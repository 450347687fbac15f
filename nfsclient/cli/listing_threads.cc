#include "nfsclient/cli/listing_threads.h"

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/cli/join_path.h"

namespace nfswalk::cli {

namespace {

// Returns the error of a call of a directory that is held: where the server has forgotten it, it is
// gone, and so is all that was in it.
std::errc InHeld(std::errc error) {
  return error == protocol::kStale ? std::errc::no_such_file_or_directory : error;
}

}  // namespace

TreeEntry EntryOf(const ListedDirectory& directory, const ListedChild& child) {
  return {.path = JoinPath(directory.entry.path, child.name),
          .depth = directory.entry.depth + 1,
          .attributes = *child.attributes,
          .name = child.name,
          .directory = directory.node};
}

ListingThreads::ListingThreads(const Credential& credential, const TreeOptions& options)
    : credential_(credential), options_(options) {
  if (options_.threads == 1) return;  // the calling one
  threads_.reserve(options_.threads);
  try {
    while (threads_.size() < options_.threads) {
      threads_.emplace_back([this](const std::stop_token& stop) { Run(stop); });
    }
  } catch (const std::system_error&) {
    // The threads that run do the work, or the calling one.
  }
}

ListingThreads::~ListingThreads() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void ListingThreads::Take(ListedDirectory& directory) {
  std::unique_lock lock(mutex_);
  if (ahead_.contains(directory.place)) {
    changed_.wait(lock, [&] { return directory.listed; });
    ahead_.erase(directory.place);
    changed_.notify_all();
    return;
  }
  waiting_.erase(directory.place);
  lock.unlock();
  List(directory);
}

void ListingThreads::Run(const std::stop_token& stop) {
  while (const auto directory = Next(stop)) List(*directory);
}

std::shared_ptr<ListedDirectory> ListingThreads::Next(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [&] { return MayTakeFirst(); })) return nullptr;
  if (stop.stop_requested()) return nullptr;
  auto directory = std::move(waiting_.begin()->second);
  waiting_.erase(waiting_.begin());
  ahead_.emplace(directory->place, 0);
  return directory;
}

// Listings behind it do not count: else the walk could wait alone in a large tree for what was
// listed of the next.
bool ListingThreads::MayTakeFirst() const {
  if (waiting_.empty()) return false;
  size_t directories = 0;
  size_t entries = 0;
  for (const auto& [place, count] : ahead_) {
    if (place > waiting_.begin()->first) break;
    entries += count;
    if (++directories >= TreeOptions::kAheadDirectories || entries >= TreeOptions::kAheadEntries) {
      return false;
    }
  }
  return true;
}

void ListingThreads::List(ListedDirectory& directory) {
  std::vector<ListedChild>& children = directory.children;
  directory.error = Read(directory);
  for (ListedChild& child : children) ListInside(directory, child);
  const std::lock_guard lock(mutex_);
  for (const ListedChild& child : children) {
    if (child.inside != nullptr) waiting_.emplace(child.inside->place, child.inside);
  }
  if (const auto entry = ahead_.find(directory.place); entry != ahead_.end()) {
    entry->second = children.size();
  }
  directory.listed = true;
  changed_.notify_all();
}

std::errc ListingThreads::Read(ListedDirectory& directory) {
  if (directory.entry.path.size() > TreeOptions::kPathBytesMax) {
    return std::errc::filename_too_long;
  }
  if (directory.node == nullptr) {
    auto node = ResolveListed(directory.entry, credential_);
    if (!node) return node.error();
    directory.node = std::move(*node);
  }
  const std::errc error =
      directory.node->ReadDir("", credential_, [&](const DirectoryEntry& entry) {
        directory.children.push_back({entry.name, std::unexpected(std::errc{}), nullptr});
        if (entry.attributes) directory.children.back().attributes = *entry.attributes;
        return true;
      });
  Complete(directory);
  return InHeld(error);
}

// Asks for what the listing came without.
void ListingThreads::Complete(ListedDirectory& directory) {
  std::vector<ListedChild*> children;
  std::vector<std::string_view> names;
  for (ListedChild& child : directory.children) {
    if (child.attributes) continue;
    children.push_back(&child);
    names.push_back(child.name);
  }
  std::vector<Result<Attributes>> found(names.size());
  directory.node->StatEach(names, credential_, found, {.no_follow = true, .dont_cache = true});
  for (size_t i = 0; i < found.size(); ++i) {
    children[i]->attributes = found[i] ? found[i] : std::unexpected(InHeld(found[i].error()));
  }
}

void ListingThreads::ListInside(ListedDirectory& directory, ListedChild& child) {
  if (!child.attributes || child.attributes->type != protocol::FileType::kDirectory) return;
  if (directory.place.size() + 1 >= options_.depth_max) return;
  child.inside = std::make_shared<ListedDirectory>(EntryOf(directory, child), directory.place);
  child.inside->place.push_back(static_cast<uint32_t>(&child - directory.children.data()));
}

}  // namespace nfswalk::cli
