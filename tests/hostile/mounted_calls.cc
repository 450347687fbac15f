#include "tests/hostile/mounted_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <set>
#include <string_view>

namespace nfswalk::hostile {
namespace {

constexpr size_t kBytesMax = 1'000'000;    // read of a file: those of the tree are shorter
constexpr size_t kEntriesMax = 100'000;    // read of a listing
constexpr size_t kWrittenBytes = 150'000;  // that no single WRITE takes

CallResult Failed() { return {errno, ""}; }
CallResult Checked(int result) { return result == 0 ? CallResult{} : Failed(); }

CallResult Stat(const std::string& mount) {
  struct stat found{};
  if (lstat((mount + "/dir/inner").c_str(), &found) != 0) return Failed();
  return {0, std::to_string(found.st_mode) + " " + std::to_string(found.st_size)};
}

CallResult ReadLink(const std::string& mount) {
  char text[PATH_MAX];
  const ssize_t bytes = readlink((mount + "/link").c_str(), text, sizeof text);
  return bytes < 0 ? Failed() : CallResult{0, std::string(text, static_cast<size_t>(bytes))};
}

CallResult List(const std::string& mount) {
  DIR* const directory = opendir(mount.c_str());
  if (directory == nullptr) return Failed();
  std::multiset<std::string> names;
  errno = 0;
  while (const dirent* entry = names.size() < kEntriesMax ? readdir(directory) : nullptr) {
    names.insert(entry->d_name);
    errno = 0;
  }
  CallResult result{errno};
  closedir(directory);
  for (const std::string& name : names) result.text += name + "/";
  return result;
}

CallResult Read(const std::string& mount) {
  const int file = open((mount + "/file").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Failed();
  CallResult result;
  static thread_local char piece[64 * 1024];
  ssize_t count = 0;
  do {
    count = read(file, piece, sizeof piece);
    if (count > 0) result.text.append(piece, static_cast<size_t>(count));
  } while (count > 0 && result.text.size() < kBytesMax);
  if (count < 0) result.error = errno;
  if (close(file) != 0 && result.error == 0) result.error = errno;
  return result;
}

// `has_another`: has another descriptor, which is closed before the data is synced by this one.
CallResult WriteTo(const std::string& path, int flags, bool has_another = false) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0644);
  if (file < 0) return Failed();
  const std::string data(kWrittenBytes, 'w');
  CallResult result{0, "written"};
  for (size_t at = 0; at < data.size() && result.error == 0;) {
    const ssize_t count = pwrite(file, data.data() + at, data.size() - at, static_cast<off_t>(at));
    if (count < 0) result = Failed();
    at += static_cast<size_t>(count);
  }
  if (has_another) close(dup(file));
  if (result.error == 0 && fsync(file) != 0) result = Failed();
  if (close(file) != 0 && result.error == 0) result = Failed();
  return result;
}

}  // namespace

void PrintTo(const CallResult& result, std::ostream* out) {
  constexpr size_t kShownBytes = 200;
  *out << (result.error == 0 ? "" : strerrorname_np(result.error)) << " '"
       << result.text.substr(0, kShownBytes) << "'";
}

const std::vector<MountedCall>& MountedCalls() {
  using Mount = const std::string&;
  static const std::vector<MountedCall> calls = {
      {"Stat", Stat},
      {"Access", [](Mount at) { return Checked(access((at + "/dir/inner").c_str(), R_OK)); }},
      {"ReadLink", ReadLink},
      {"List", List},
      {"Read", Read},
      {"StatFs",
       [](Mount at) {
         struct statvfs found{};
         return Checked(statvfs(at.c_str(), &found));
       }},
      {"Write", [](Mount at) { return WriteTo(at + "/file", 0); }},
      {"Create", [](Mount at) { return WriteTo(at + "/new", O_CREAT | O_EXCL); }},
      {"WriteOfTwo", [](Mount at) { return WriteTo(at + "/file", 0, true); }},
      {"Replace", [](Mount at) { return WriteTo(at + "/file", O_CREAT | O_TRUNC); }},
      {"Truncate", [](Mount at) { return Checked(truncate((at + "/file").c_str(), 1)); }},
      {"Chmod", [](Mount at) { return Checked(chmod((at + "/file").c_str(), 0600)); }},
      {"Mkdir", [](Mount at) { return Checked(mkdir((at + "/new").c_str(), 0755)); }},
      {"Symlink", [](Mount at) { return Checked(symlink("text", (at + "/new").c_str())); }},
      {"Link",
       [](Mount at) { return Checked(link((at + "/file").c_str(), (at + "/new").c_str())); }},
      {"Rename",
       [](Mount at) {
         return Checked(rename((at + "/file").c_str(), (at + "/dir/inner").c_str()));
       }},
      {"Unlink", [](Mount at) { return Checked(unlink((at + "/file").c_str())); }},
      {"Rmdir", [](Mount at) { return Checked(rmdir((at + "/" + kEmptyDirectory).c_str())); }},
  };
  return calls;
}

}  // namespace nfswalk::hostile
