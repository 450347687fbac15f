#include "tests/faults/tree_check.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>

namespace nfswalk::faults {

using protocol::FileType;

namespace {

const Credential kRoot(0, 0);

FileType TypeOf(mode_t mode) {
  if (S_ISDIR(mode)) return FileType::kDirectory;
  return S_ISLNK(mode) ? FileType::kSymlink : FileType::kRegular;
}

// Prints the fileid, the times and all else of stat(2) in one line.
std::string LineOf(const struct stat& found) {
  const bool directory = S_ISDIR(found.st_mode);
  return std::to_string(found.st_ino) + " type " +
         std::to_string(static_cast<int>(TypeOf(found.st_mode))) + " mode " +
         std::to_string(S_ISLNK(found.st_mode) ? 0 : found.st_mode & 07777) + " owner " +
         std::to_string(found.st_uid) + ":" + std::to_string(found.st_gid) + " links " +
         std::to_string(found.st_nlink) + " size " + std::to_string(directory ? 0 : found.st_size) +
         " mtime " + std::to_string(found.st_mtim.tv_sec) + "." +
         std::to_string(found.st_mtim.tv_nsec) + " ctime " + std::to_string(found.st_ctim.tv_sec) +
         "." + std::to_string(found.st_ctim.tv_nsec);
}

std::string LineOf(const Attributes& found) {
  const bool directory = found.type == FileType::kDirectory;
  return std::to_string(found.fileid) + " type " + std::to_string(static_cast<int>(found.type)) +
         " mode " + std::to_string(found.type == FileType::kSymlink ? 0 : found.mode) + " owner " +
         std::to_string(found.uid) + ":" + std::to_string(found.gid) + " links " +
         std::to_string(found.nlink) + " size " + std::to_string(directory ? 0 : found.size_bytes) +
         " mtime " + std::to_string(found.mtime.seconds) + "." +
         std::to_string(found.mtime.nanoseconds) + " ctime " + std::to_string(found.ctime.seconds) +
         "." + std::to_string(found.ctime.nanoseconds);
}

std::string TextOf(Client& client, const std::string& path, FileType type, uint64_t size) {
  std::string text(size + 1, '\0');
  Result<size_t> count = std::unexpected(std::errc{});
  if (type == FileType::kSymlink) {
    count = client.ReadLink(path, text, kRoot);
  } else {
    auto file = client.Open(path, kMayRead, kRoot);
    if (!file) return "cannot be opened: " + std::make_error_code(file.error()).message();
    count = (*file)->PRead(std::as_writable_bytes(std::span(text)), 0);
  }
  if (!count) return "cannot be read: " + std::make_error_code(count.error()).message();
  text.resize(*count);
  return text;
}

std::string BackingText(const std::string& path, FileType type) {
  if (type == FileType::kSymlink) return std::filesystem::read_symlink(path);
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

int ExpectSameTree(Client& client, const std::string& path, const std::string& backing,
                   const std::string& when) {
  struct stat there;
  EXPECT_EQ(lstat(backing.c_str(), &there), 0) << backing;
  const auto found = client.Stat(path, kRoot, {.no_follow = true});
  EXPECT_EQ(found ? LineOf(*found) : "error " + std::make_error_code(found.error()).message(),
            LineOf(there))
      << path << " " << when;
  const FileType type = TypeOf(there.st_mode);
  if (type != FileType::kDirectory) {
    EXPECT_EQ(TextOf(client, path, type, static_cast<uint64_t>(there.st_size)),
              BackingText(backing, type))
        << path << " " << when;
    return 1;
  }
  int compared = 1;
  std::set<std::string> kept;
  for (const auto& entry : std::filesystem::directory_iterator(backing)) {
    kept.insert(entry.path().filename());
  }
  for (const std::string& name : kept) {
    compared += ExpectSameTree(client, path + "/" + name, backing + "/" + name, when);
  }
  // After the lookups, which a listing would have primed.
  std::multiset<std::string> listed;
  EXPECT_EQ(client.ReadDir(path, kRoot,
                           [&](const DirectoryEntry& entry) {
                             listed.insert(entry.name);
                             return true;
                           }),
            std::errc{});
  EXPECT_EQ(listed, std::multiset<std::string>(kept.begin(), kept.end())) << path << " " << when;
  return compared;
}

}  // namespace nfswalk::faults
