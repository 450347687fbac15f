// kernel_files: a made-up /proc and cgroup tree for code that takes a root. A base of fixtures.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_MEMORY_KERNEL_FILES_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_MEMORY_KERNEL_FILES_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace nfswalk::nfs {

class KernelFiles {
 protected:
  static constexpr char kPlainMounts[] =
      "22 1 0:20 / /proc rw - proc proc rw\n"
      "30 1 0:25 / /sys/fs/cgroup rw,nosuid shared:9 master:1 - cgroup2 cgroup2 rw\n";

  KernelFiles() { std::filesystem::remove_all(root_); }

  // Overwrites the file in place, as the kernel does.
  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string Read(const std::string& path) const {
    std::ifstream file(root_ + path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void EnterCgroup(const std::string& path, const std::string& mounts = kPlainMounts) const {
    Write("/proc/self/cgroup", "1:name=systemd:/other\n0::" + path + "\n");
    Write("/proc/self/mountinfo", mounts);
  }

  const std::string root_ =
      ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_MEMORY_KERNEL_FILES_H_
