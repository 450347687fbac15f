#include "tests/differential/backing_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "tests/differential/identities.h"

namespace nfswalk::differential {
namespace {

constexpr time_t kFuture = 3'786'912'000;  // 2090

void Must(int result, const std::string& path) {
  if (result >= 0) return;
  std::perror(path.c_str());
  std::abort();
}

// Sampled modes: first those where one bit makes the difference, then random ones.
std::vector<uint32_t> SampledModes(std::mt19937_64& random) {
  std::vector<uint32_t> modes = {0,     0777,  0700,  0070,  0007,  0400,  0200,  0100,
                                 0040,  0020,  0010,  0004,  0002,  0001,  0707,  0770,
                                 0077,  0111,  0222,  0444,  0555,  0666,  04755, 02755,
                                 06777, 01777, 04000, 02070, 01000, 07000, 04644, 02644};
  while (modes.size() < 64) modes.push_back(random() % 07777);
  return modes;
}

}  // namespace

BackingTree::BackingTree(std::string directory) : directory_(std::move(directory)) {
  const timespec times[] = {{kFuture, 0}, {0, UTIME_OMIT}};
  Must(utimensat(AT_FDCWD, directory_.c_str(), times, 0), directory_);
}

void BackingTree::Finish(const std::string& path, bool link, uint32_t mode, uint32_t uid,
                         uint32_t gid) {
  const std::string at = At(path);
  Must(lchown(at.c_str(), uid, gid), at);
  if (!link) Must(chmod(at.c_str(), mode), at);
  const timespec times[] = {{kFuture, 123'456'789}, {1'000'000'000 + mode, 999'999'999}};
  Must(utimensat(AT_FDCWD, at.c_str(), times, AT_SYMLINK_NOFOLLOW), at);
}

void BackingTree::Directory(const std::string& path, uint32_t mode, uint32_t uid, uint32_t gid) {
  Must(mkdir(At(path).c_str(), 0700), path);
  Finish(path, false, mode, uid, gid);
}

void BackingTree::File(const std::string& path, uint64_t size_bytes, uint32_t mode, uint32_t uid,
                       uint32_t gid) {
  const int file = open(At(path).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  Must(file, path);
  // Half a file of data, half a hole.
  const std::string data(size_bytes < 100'000 ? size_bytes / 2 : 0, 'x');
  Must(static_cast<int>(write(file, data.data(), data.size())), path);
  Must(ftruncate(file, static_cast<off_t>(size_bytes)), path);
  close(file);
  Finish(path, false, mode, uid, gid);
}

void BackingTree::Link(std::string_view target, const std::string& path) {
  Must(symlink(std::string(target).c_str(), At(path).c_str()), path);
  Finish(path, true, 0777, 0, 0);
}

void BackingTree::HardLink(const std::string& existing, const std::string& path) {
  Must(link(At(existing).c_str(), At(path).c_str()), path);
}

void BackingTree::Node(const std::string& path, mode_t type, dev_t device) {
  Must(mknod(At(path).c_str(), type | 0600, device), path);
  Finish(path, false, 0660, kAlice, kStaff);
}

namespace {

class Builder {
 public:
  Builder(BackingTree& tree, uint64_t seed) : tree_(tree), random_(seed) {}

  Inventory Build() {
    Rights();
    Types();
    DeepAndWide();
    EveryByte();
    Links();
    Closed();
    for (const auto* paths : {&found_.directories, &found_.files, &found_.links}) {
      found_.all.insert(found_.all.end(), paths->begin(), paths->end());
    }
    return std::move(found_);
  }

 private:
  void Directory(const std::string& path, uint32_t mode = 0755, uint32_t uid = 0,
                 uint32_t gid = 0) {
    tree_.Directory(path, mode, uid, gid);
    found_.directories.push_back(path);
  }
  void File(const std::string& path, uint64_t size = 0, uint32_t mode = 0644, uint32_t uid = 0,
            uint32_t gid = 0) {
    tree_.File(path, size, mode, uid, gid);
    found_.files.push_back(path);
  }
  void Link(std::string_view target, const std::string& path) {
    tree_.Link(target, path);
    found_.links.push_back(path);
  }

  void Rights() {
    constexpr uint32_t kOwners[] = {0, kAlice, kAlice, kBob, kAnonymous};
    constexpr uint32_t kGroups[] = {0, kAlice, kStaff, kStaff, kWheel, kAnonymous};
    Directory("rights");
    int number = 0;
    for (uint32_t mode : SampledModes(random_)) {
      const std::string name = "rights/" + std::to_string(number++);
      const uint32_t uid = kOwners[random_() % std::size(kOwners)];
      const uint32_t gid = kGroups[random_() % std::size(kGroups)];
      File(name + "f", random_() % 9000, mode, uid, gid);
      Directory(name + "d", 0755);
      File(name + "d/in", 3, 0664, uid, gid);
      Must(lchown(tree_.At(name + "d").c_str(), uid, gid), name);
      Must(chmod(tree_.At(name + "d").c_str(), IsReferral(mode) ? mode & 0777 : mode), name);
      for (const char* kind : {"f", "d", "d/in"}) found_.rights.push_back(name + kind);
    }
  }

  void Types() {
    Directory("types");
    File("types/empty");
    File("types/data", 5000);
    File("types/huge", uint64_t{5} << 30);
    tree_.HardLink("types/data", "types/data2");
    tree_.HardLink("types/data", "rights/data3");
    found_.files.insert(found_.files.end(), {"types/data2", "rights/data3"});
    tree_.Node("types/fifo", S_IFIFO);
    tree_.Node("types/socket", S_IFSOCK);
    tree_.Node("types/character", S_IFCHR, makedev(1, 3));
    tree_.Node("types/block", S_IFBLK, makedev(259, 70'000));
    for (const char* name : {"fifo", "socket", "character", "block"}) {
      found_.files.push_back(std::string("types/") + name);
      found_.rights.push_back(std::string("types/") + name);
    }
  }

  void DeepAndWide() {
    std::string path = "deep";
    Directory(path);
    for (int i = 0; i < 14; ++i) Directory(path += "/" + std::string(255, 'a' + i));
    File(path + "/end");
    path = "deep/d";
    Directory(path);
    for (int i = 0; i < 40; ++i) Directory(path += "/d");
    File(path + "/end");
    Directory("wide");
    for (int i = 0; i < 150; ++i) File("wide/" + std::to_string(i), static_cast<uint64_t>(i));
  }

  void EveryByte() {
    Directory("bytes");
    for (int byte = 1; byte < 256; ++byte) {
      if (byte == '/') continue;
      const char c = static_cast<char>(byte);
      found_.names.push_back(std::string{'n', c, 'n'});
      if (c != '.') found_.names.push_back(std::string{c});
    }
    found_.names.insert(found_.names.end(), {"...", ".. ", ".hidden", "..x", "x.", "x..", " ."});
    for (const std::string& name : found_.names) File("bytes/" + name);
  }

  void Links() {
    Directory("links");
    Directory("links/dir");
    File("links/dir/file", 7);
    File("links/target", 9);
    std::string previous = "target";
    for (int i = 1; i <= 42; ++i) {
      const std::string name = "links/chain" + std::to_string(i);
      tree_.Link(previous, name);
      // Links in between would dominate the questions.
      if (i < 3 || i > 38) found_.links.push_back(name);
      previous = "chain" + std::to_string(i);
    }
    const std::pair<std::string, std::string> others[] = {
        {"dangling", "nowhere"},
        {"dangling_dir", "nowhere/"},
        {"loop", "loop"},
        {"ping", "pong"},
        {"pong", "ping"},
        {"self", "."},
        {"parent", ".."},
        {"root", "/"},
        {"slashes", "///"},
        {"above", "../../../.."},
        {"absolute", "/links/dir"},
        {"absolute_file", "//links//target"},
        {"to_file", "target"},
        {"to_file_slash", "target/"},
        {"to_file_dot", "target/."},
        {"to_dir", "dir"},
        {"to_dir_slash", "dir/"},
        {"to_dir_dots", "./dir/../dir/."},
        {"to_link", "to_dir"},
        {"to_link_slash", "to_dir/"},
        {"up", "../links/dir/file"},
        {"far_up", "../../../types/data"},
        {"through_file", "target/x"},
        {"through_dangling", "dangling/x"},
        {"to_closed", "../closed/in"},
        {"to_closed_dots", "../closed/../links/target"},
        {"to_bytes", "../bytes/n\1n"},
        {"long_name", std::string(256, 'n')},
        {"long_text", LongText(4095)},
        {"long_text2", LongText(4094) + "/"},
        {"to_fifo", "../types/fifo"},
        {"to_device", "/types/block"},
    };
    for (const auto& [name, target] : others) Link(target, "links/" + name);
  }

  // Leads to links/dir, in `size` bytes.
  static std::string LongText(size_t size) {
    std::string text;
    while (text.size() + 2 + 3 <= size) text += "./";
    text += "dir";
    return text + std::string(size - text.size(), '/');
  }

  void Closed() {
    Directory("closed");
    Directory("closed/in");
    File("closed/in/file");
    Must(chmod(tree_.At("closed").c_str(), 0700), "closed");
    Directory("readable");
    File("readable/file", 0, 0666);
    Must(chmod(tree_.At("readable").c_str(), 0744), "readable");
    Directory("sticky", 01777);
    File("sticky/of_alice", 0, 0600, kAlice, kAlice);
    // Which of these the kernel follows depends on fs.protected_symlinks.
    for (const uint32_t uid : {0u, kAlice, kBob}) {
      for (const std::string target : {"target", "dir", "to_dir", "none"}) {
        const std::string name = std::to_string(uid) + "_" + target;
        Link("../links/" + target, "sticky/" + name);
        Must(lchown(tree_.At("sticky/" + name).c_str(), uid, uid), name);
        Link("../sticky/" + name, "links/" + name);
      }
    }
  }

  BackingTree& tree_;
  std::mt19937_64 random_;
  Inventory found_;
};

}  // namespace

Inventory BuildTree(BackingTree& tree, uint64_t seed) { return Builder(tree, seed).Build(); }

}  // namespace nfswalk::differential
