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
#include <sstream>

#include "nfsclient/data/write_back.h"
#include "rcu/defer.h"
#include "tests/fixtures/client_internals.h"

namespace nfswalk::faults {

using protocol::FileType;

namespace {

const Credential kRoot(0, 0);

FileType TypeOf(mode_t mode) {
  if (S_ISDIR(mode)) return FileType::kDirectory;
  return S_ISLNK(mode) ? FileType::kSymlink : FileType::kRegular;
}

Attributes AttributesOf(const struct stat& found) {
  Attributes attributes;
  attributes.type = TypeOf(found.st_mode);
  attributes.mode = found.st_mode & 07777;
  attributes.nlink = static_cast<uint32_t>(found.st_nlink);
  attributes.uid = found.st_uid;
  attributes.gid = found.st_gid;
  attributes.size_bytes = static_cast<uint64_t>(found.st_size);
  attributes.fileid = found.st_ino;
  attributes.mtime = {found.st_mtim.tv_sec, static_cast<uint32_t>(found.st_mtim.tv_nsec)};
  attributes.ctime = {found.st_ctim.tv_sec, static_cast<uint32_t>(found.st_ctim.tv_nsec)};
  return attributes;
}

// Leaves out what the server and the backing file system show differently.
std::string Comparable(Attributes attributes) {
  if (attributes.type == FileType::kSymlink) attributes.mode = 0;
  if (attributes.type == FileType::kDirectory) attributes.size_bytes = 0;
  return Describe(attributes);
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
  EXPECT_EQ(found ? Comparable(*found) : "error " + std::make_error_code(found.error()).message(),
            Comparable(AttributesOf(there)))
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

std::string Describe(const Attributes& found) {
  std::ostringstream line;
  line << found.fileid << " type " << static_cast<int>(found.type) << " mode " << found.mode
       << " owner " << found.uid << ":" << found.gid << " links " << found.nlink << " size "
       << found.size_bytes << " mtime " << found.mtime.seconds << "." << found.mtime.nanoseconds
       << " ctime " << found.ctime.seconds << "." << found.ctime.nanoseconds;
  return line.str();
}

void WriteBackAll(Client& client) {
  nfs::Superblock& superblock = ClientInternals::SuperblockOf(client);
  superblock.background.Wait();
  for (const auto& file : superblock.dirty_files.All()) {
    EXPECT_EQ(file->LockAndFlush(data::WriteBack::Until::kCommitted), std::errc{});
  }
  superblock.write_errors.Clear();  // that no Close() could tell: they hold their inodes
}

void ExpectAllEvictable(Client& client) {
  WriteBackAll(client);
  client.DropCaches();
  rcu::Barrier();  // access entries release credentials after a grace period
  client.DropCaches();
  const Stats stats = client.stats();
  EXPECT_EQ(stats.dentries, 1u) << "the root alone";
  EXPECT_EQ(stats.inodes, 1u);
  EXPECT_EQ(stats.access_entries, 0u);
  EXPECT_EQ(stats.credentials, 0u);
}

}  // namespace nfswalk::faults
