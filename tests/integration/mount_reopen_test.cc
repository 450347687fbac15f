// `nfswalk mount`: what programs have open, and rename or remove meanwhile, goes on after the server
// has lost what was open. NAME-29.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nfsclient/client.h"
#include "tests/integration/mount_run.h"

namespace nfswalk {
namespace {

constexpr uint32_t kLeaseSeconds = 2;

struct Case {
  std::string_view name;
  // In a directory with d/f, which is open.
  std::function<bool(const std::string& top)> change;
  // Path of the file afterwards; if it is a directory, the file has a hidden name there.
  std::string_view at;
};

bool Renamed(const std::string& from, const std::string& to) {
  return rename(from.c_str(), to.c_str()) == 0;
}
bool Removed(const std::string& path) { return unlink(path.c_str()) == 0; }

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"rotated", [](const auto& top) { return Renamed(top + "/d/f", top + "/d/f.1"); }, "d/f.1"},
      {"moved", [](const auto& top) { return Renamed(top + "/d/f", top + "/e/f"); }, "e/f"},
      {"below", [](const auto& top) { return Renamed(top + "/d", top + "/e/d"); }, "e/d/f"},
      {"removed", [](const auto& top) { return Removed(top + "/d/f"); }, "d"},
      {"replaced",
       [](const auto& top) {
         return WriteText(top + "/d/g", "another") == 0 && Renamed(top + "/d/g", top + "/d/f");
       },
       "d"},
      {"linked",
       [](const auto& top) {
         return link((top + "/d/f").c_str(), (top + "/e/g").c_str()) == 0 && Removed(top + "/d/f");
       },
       "e/g"},
  };
  return cases;
}

class MountReopen : public MountRun {
 protected:
  static void SetUpTestSuite() {
    if (geteuid() != 0) return;
    auto started =
        fixtures::NfsServer::Start({.lease_seconds = kLeaseSeconds, .caches_names = false});
    ASSERT_TRUE(started.has_value()) << started.error();
    server_ = std::move(*started);
  }

  // Calls `lose` between the changes and what shows that the files are still open. Another process
  // has them open: this one starts servers, and exec(2) would wait for the flush of its files.
  void ExpectFilesSurvive(const std::function<void()>& lose) {
    for (const Case& test : Cases()) {
      const std::string top(test.name);
      for (const char* const below : {"", "/d", "/e"}) Directory(top + below);
      File(top + "/d/f", "line 1\n");
    }
    Mount("hard");
    std::array<int, 2> to_parent{}, to_child{};
    ASSERT_EQ(pipe2(to_parent.data(), O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(to_child.data(), O_CLOEXEC), 0);
    Child program([&] { return UseFiles(to_child[0], to_parent[1]); });
    char step = 0;
    ASSERT_EQ(read(to_parent[0], &step, 1), 1);
    ASSERT_NO_FATAL_FAILURE(lose());
    ASSERT_EQ(write(to_child[1], &step, 1), 1);
    ASSERT_EQ(read(to_parent[0], &step, 1), 1);
    EXPECT_EQ(step, 0) << "errors of the program";
    for (const Case& test : Cases()) {
      EXPECT_EQ(TextOnServer(test), "line 1\nline 2\nline 3\n") << test.name;
    }
    ASSERT_EQ(write(to_child[1], &step, 1), 1);
    EXPECT_EQ(program.Wait(), 0);
    for (const int end : {to_parent[0], to_parent[1], to_child[0], to_child[1]}) close(end);
  }

  // Tells after the changes, and the count of errors after the last write.
  int UseFiles(int from_parent, int to_parent) const {
    std::vector<int> files;
    char errors = 0;
    for (const Case& test : Cases()) {
      const std::string top = At(std::string(test.name));
      files.push_back(open((top + "/d/f").c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
      if (!test.change(top) || write(files.back(), "line 2\n", 7) != 7) ++errors;
    }
    char step = 0;
    if (write(to_parent, &step, 1) != 1 || read(from_parent, &step, 1) != 1) return 1;
    for (const int file : files) {
      std::array<char, 14> text;
      if (pread(file, text.data(), text.size(), 0) != 14) ++errors;
      if (std::string_view(text.data(), text.size()) != "line 1\nline 2\n") ++errors;
      if (write(file, "line 3\n", 7) != 7 || fsync(file) != 0) ++errors;
    }
    if (write(to_parent, &errors, 1) != 1 || read(from_parent, &step, 1) != 1) return 1;
    for (const int file : files) close(file);
    return 0;
  }

 private:
  std::string TextOnServer(const Case& test) const {
    const std::filesystem::path at = Backing(std::string(test.name)) / test.at;
    if (!std::filesystem::is_directory(at)) return TextOf(at);
    for (const auto& entry : std::filesystem::directory_iterator(at)) {
      if (entry.path().filename().string().starts_with(".nfs")) return TextOf(entry.path());
    }
    return "no hidden name";
  }
};

TEST_P(MountReopen, ARestartWithoutGraceLosesNothingOfWhatIsOpen) {
  ExpectFilesSurvive([] {
    server_->Kill();
    ASSERT_EQ(server_->Restart(), "");
  });
}

// A call of a soft mount that times out marks the end of the lease.
TEST_P(MountReopen, AnExpiredLeaseLosesNothingOfWhatIsOpen) {
  const Credential root(0, 0);
  const uint32_t lease = std::max(kLeaseSeconds, server_->properties().lease_min_seconds);
  const std::string options = "soft&retrans=0&timeo=" + std::to_string(10 * (lease + 1));
  auto patient = Client::Mount(ParseMountUrl(server_->Url(options, 3)).value());
  ASSERT_TRUE(patient.has_value()) << patient.error().message;
  ExpectFilesSurvive([&] {
    server_->Hang();
    auto asked = (*patient)->GetSpace("/", root);
    while (asked) asked = (*patient)->GetSpace("/", root);
    server_->Resume();
    ASSERT_EQ(asked.error(), std::errc::timed_out);
  });
}

INSTANTIATE_TEST_SUITE_P(Versions, MountReopen, fixtures::AllVersions(),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
