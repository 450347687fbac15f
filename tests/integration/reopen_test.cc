// Files that are open while this client renames or removes them, and whose state the server then
// loses: a real server that is killed and restarted, or lets the lease expire. NAME-29.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/nfs_server.h"

namespace nfswalk {
namespace {

constexpr uint32_t kLeaseSeconds = 2;

enum class Loss { kRestart, kRestartWithGrace, kLease };

// A client and a file d/f that it has open.
struct OpenedFile {
  Client& client;
  std::string top;  // the directory of the case
  std::string backing;
  const Credential& credential;

  std::string At(std::string_view name) const { return top + "/" + std::string(name); }
  bool Rename(std::string_view from, std::string_view to) const {
    return client.Rename(At(from), At(to), credential) == kOk;
  }
  bool Unlink(std::string_view name) const { return client.Unlink(At(name), credential) == kOk; }
  bool Link(std::string_view from, std::string_view to) const {
    return client.Link(At(from), At(to), credential) == kOk;
  }
  bool Stat(std::string_view name) const { return client.Stat(At(name), credential).has_value(); }
  void Put(const std::string& name) const { std::ofstream(backing + "/" + name) << "another"; }
};

struct Case {
  std::string_view name;
  std::function<bool(const OpenedFile&)> change;
  // Path of the file afterwards; "" if it has a hidden name in `hidden_in`.
  std::string_view at;
  std::string_view hidden_in = "d";
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"Untouched", [](const OpenedFile&) { return true; }, "d/f"},
      {"Renamed", [](const OpenedFile& f) { return f.Rename("d/f", "d/g"); }, "d/g"},
      {"RenamedAndAnotherHasTheName",
       [](const OpenedFile& f) {
         const bool done = f.Rename("d/f", "d/g");
         f.Put("d/f");
         return done;
       },
       "d/g"},
      {"RenamedTwice",
       [](const OpenedFile& f) { return f.Rename("d/f", "e/g") && f.Rename("e/g", "e/h"); }, "e/h"},
      {"RenamedOverAnother",
       [](const OpenedFile& f) {
         f.Put("d/g");
         return f.Rename("d/f", "d/g");
       },
       "d/g"},
      {"DirectoryRenamed", [](const OpenedFile& f) { return f.Rename("d", "e/d"); }, "e/d/f"},
      {"RenamedInARenamedDirectory",
       [](const OpenedFile& f) { return f.Rename("d", "e/d") && f.Rename("e/d/f", "e/d/g"); },
       "e/d/g"},
      {"Removed", [](const OpenedFile& f) { return f.Unlink("d/f"); }, ""},
      {"RemovedInARenamedDirectory",
       [](const OpenedFile& f) { return f.Rename("d", "e/d") && f.Unlink("e/d/f"); }, "", "e/d"},
      {"RemovedAndTheDirectoryRenamed",
       [](const OpenedFile& f) { return f.Unlink("d/f") && f.Rename("d", "e/d"); }, "", "e/d"},
      {"Replaced",
       [](const OpenedFile& f) {
         f.Put("d/g");
         return f.Rename("d/g", "d/f");
       },
       ""},
      {"OtherLinkLeft",
       [](const OpenedFile& f) {
         return f.Link("d/f", "e/link") && f.Stat("e/link") && f.Unlink("d/f");
       },
       "e/link"},
      {"OneOfTwoLinksRenamed",
       [](const OpenedFile& f) {
         return f.Link("d/f", "e/link") && f.Stat("d/f") && f.Rename("d/f", "d/g") &&
                f.Unlink("e/link");
       },
       "d/g"},
      {"OtherLinkReplaced",
       [](const OpenedFile& f) {
         f.Put("d/g");
         return f.Link("d/f", "e/link") && f.Stat("e/link") && f.Rename("d/g", "d/f");
       },
       "e/link"},
      {"RemovedLinkByLink",
       [](const OpenedFile& f) {
         return f.Link("d/f", "e/link") && f.Stat("e/link") && f.Unlink("d/f") &&
                f.Unlink("e/link");
       },
       "", "e"},
  };
  return cases;
}

class Reopen : public testing::Test {
 protected:
  void Start(Loss loss) {
    loss_ = loss;
    auto started = fixtures::NfsServer::Start(
        {.grace_seconds = loss == Loss::kRestartWithGrace ? kLeaseSeconds : 0,
         .lease_seconds = kLeaseSeconds});
    ASSERT_TRUE(started.has_value()) << started.error();
    server_ = std::move(*started);
    patience_ds_ = 10 * (std::max(kLeaseSeconds, server_->properties().lease_min_seconds) + 1);
  }
  std::unique_ptr<Client> Mount(std::string_view options = "") const {
    const fixtures::NfsServer::NetworkScope scope(*server_);
    auto client = Client::Mount(ParseMountUrl(server_->Url(options, 4)).value());
    EXPECT_TRUE(client.has_value()) << client.error().message;
    return client ? std::move(*client) : nullptr;
  }
  std::string Backing(std::string_view name) const {
    return server_->backing_directory() + "/" + std::string(name);
  }
  void MakeTree(const std::string& name) const {
    for (const char* const directory : {"/d", "/e"}) {
      std::filesystem::create_directories(Backing(name) + directory);
    }
    std::ofstream(Backing(name) + "/d/f") << "hello";
  }
  // The server forgets what is open.
  void Lose() {
    if (loss_ != Loss::kLease) {
      server_->Kill();
      ASSERT_EQ(server_->Restart(), "");
      return;
    }
    // A call of a soft mount that times out marks the time.
    const auto patient = Mount("soft&retrans=0&timeo=" + std::to_string(patience_ds_));
    ASSERT_NE(patient, nullptr);
    server_->Hang();
    auto asked = patient->GetSpace("/", root_);
    while (asked) asked = patient->GetSpace("/", root_);
    server_->Resume();
    ASSERT_EQ(asked.error(), std::errc::timed_out);
  }
  static std::string TextOf(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Returns the text of the file with the only hidden name in a directory of the server, or "none".
  std::string HiddenText(const std::string& directory) const {
    std::string text = "none";
    for (const auto& entry : std::filesystem::directory_iterator(Backing(directory))) {
      if (entry.path().filename().string().starts_with(".nfs")) text = TextOf(entry.path());
    }
    return text;
  }
  static std::string Read(File& file) {
    std::array<std::byte, 64> data;
    const auto count = file.PRead(data, 0);
    if (!count) return "errno " + std::to_string(static_cast<int>(count.error()));
    return {reinterpret_cast<const char*>(data.data()), *count};
  }
  static std::errc Write(File& file, std::string_view text, uint64_t offset) {
    const auto count = file.PWrite(std::as_bytes(std::span(text)), offset);
    return count ? kOk : count.error();
  }

  const Credential root_{0, 0};
  Loss loss_{};
  uint32_t patience_ds_ = 0;
  std::unique_ptr<fixtures::NfsServer> server_;
};

class ReopenAfter : public Reopen, public testing::WithParamInterface<Loss> {};

// Each case is a directory of its own, so that the server is lost once for all.
TEST_P(ReopenAfter, AFileIsReopenedByThePresentName) {
  ASSERT_NO_FATAL_FAILURE(Start(GetParam()));
  const auto client = Mount();
  ASSERT_NE(client, nullptr);
  struct Trial {
    const Case* test;
    std::string directory;
    std::vector<std::unique_ptr<File>> files;
  };
  std::vector<Trial> trials;
  for (const Case& test : Cases()) {
    for (const bool created : {false, true}) {
      Trial trial{&test, std::string(test.name) + (created ? "Created" : ""), {}};
      MakeTree(trial.directory);
      if (created) std::filesystem::remove(Backing(trial.directory) + "/d/f");
      const std::string path = trial.directory + "/d/f";
      auto opened = client->CreateAndOpen(path, kMayRead | kMayWrite, 0666, created, root_);
      ASSERT_TRUE(opened.has_value()) << trial.directory;
      trial.files.push_back(std::move(opened->file));
      ASSERT_EQ(Write(*trial.files[0], "hello", 0), kOk);
      ASSERT_EQ(trial.files[0]->Sync(), kOk);
      auto reader = client->Open(path, kMayRead, root_);
      ASSERT_TRUE(reader.has_value());
      trial.files.push_back(std::move(*reader));
      trials.push_back(std::move(trial));
    }
  }
  for (const Trial& trial : trials) {
    const OpenedFile file{*client, trial.directory, Backing(trial.directory), root_};
    ASSERT_TRUE(trial.test->change(file)) << trial.directory;
    ASSERT_EQ(Write(*trial.files[0], " there", 5), kOk);
  }
  ASSERT_NO_FATAL_FAILURE(Lose());
  for (const Trial& trial : trials) {
    SCOPED_TRACE(trial.directory);
    const Case& test = *trial.test;
    EXPECT_EQ(trial.files[0]->Sync(), kOk);
    EXPECT_EQ(Read(*trial.files[1]), "hello there");
    EXPECT_EQ(Write(*trial.files[0], "HELLO", 0), kOk);
    EXPECT_EQ(trial.files[0]->Sync(), kOk);
    const std::string top = trial.directory + "/";
    EXPECT_EQ(test.at.empty() ? HiddenText(top + std::string(test.hidden_in))
                              : TextOf(Backing(top + std::string(test.at))),
              "HELLO there");
  }
}

std::string NameOf(const testing::TestParamInfo<Loss>& test) {
  switch (test.param) {
    case Loss::kRestart:
      return "Restart";
    case Loss::kRestartWithGrace:
      return "RestartWithGrace";
    case Loss::kLease:
      return "Lease";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(All, ReopenAfter,
                         testing::Values(Loss::kRestart, Loss::kRestartWithGrace, Loss::kLease),
                         NameOf);

}  // namespace
}  // namespace nfswalk
