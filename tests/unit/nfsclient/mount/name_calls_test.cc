// Every system call that makes, moves or removes a name, done and refused: for the sanitizers, which
// do not see the mount that is a process of its own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/fixtures/served_mount.h"

namespace nfswalk::mount {
namespace {

class NameCallsTest : public ServedMount {
 protected:
  std::string At(const std::string& name) const { return directory_ + "/" + name; }

  static int Closed(int fd) { return fd < 0 ? -1 : close(fd); }
  static int Bind(const std::string& path) {
    sockaddr_un at{.sun_family = AF_UNIX, .sun_path = {}};
    std::ranges::copy(path, at.sun_path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int result = bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof(at));
    const int error = errno;
    close(fd);
    errno = error;
    return result;
  }
};

struct Call {
  const char* name;
  int again;  // errno of the same call once more
  std::function<int()> call;
};

TEST_F(NameCallsTest, AreDoneOnceAndRefusedTheSecondTime) {
  server_->Add(kRoot, "file", FileType::kRegular);
  Served([this] {
    const std::vector<Call> calls = {
        {"mkdir", EEXIST, [&] { return mkdir(At("d").c_str(), 0755); }},
        {"symlink", EEXIST, [&] { return symlink("target", At("s").c_str()); }},
        {"mknod", EEXIST, [&] { return mknod(At("p").c_str(), S_IFIFO | 0600, 0); }},
        {"mknod of a file", EEXIST, [&] { return mknod(At("r").c_str(), S_IFREG | 0600, 0); }},
        {"bind", EADDRINUSE, [&] { return Bind(At("b")); }},
        {"link", EEXIST, [&] { return link(At("file").c_str(), At("l").c_str()); }},
        {"open", EEXIST,
         [&] { return Closed(open(At("o").c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600)); }},
        {"rename", ENOENT, [&] { return rename(At("o").c_str(), At("moved").c_str()); }},
        {"unlink", ENOENT, [&] { return unlink(At("l").c_str()); }},
        {"rmdir", ENOENT, [&] { return rmdir(At("d").c_str()); }},
    };
    for (const auto& [name, again, call] : calls) {
      EXPECT_EQ(call(), 0) << name << ": errno " << errno;
      EXPECT_EQ(call(), -1) << name;
      EXPECT_EQ(errno, again) << name;
    }
    // Looks up again a name that another client has made since the kernel looked it up.
    server_->Add(kRoot, "late", FileType::kDirectory);
    EXPECT_EQ(mkdir(At("late").c_str(), 0755), -1);
    EXPECT_EQ(errno, EEXIST);
    EXPECT_EQ(rmdir(At("late").c_str()), 0) << errno;
  });
}

// Another client has changed both names of a rename: the client knows so of one, the kernel of
// neither. The VFS comes back once.
TEST_F(NameCallsTest, ARenameOfTwoChangedNamesIsAskedForOnce) {
  const uint64_t one = server_->Add(kRoot, "one", FileType::kDirectory);
  const uint64_t two = server_->Add(kRoot, "two", FileType::kDirectory);
  server_->Add(one, "from", FileType::kRegular);
  Served([&] {
    EXPECT_EQ(TypeOf("one/from"), static_cast<mode_t>(S_IFREG));
    EXPECT_EQ(TypeOf("two/to"), 0U);
    server_->Take(one, "from");
    server_->Add(one, "from", FileType::kRegular);
    server_->Add(two, "to", FileType::kDirectory);
    const StopAt notifications("kernel-caches:before-deliver");
    Notice("/one");
    EXPECT_EQ(rename(At("one/from").c_str(), At("two/to").c_str()), -1);
    EXPECT_EQ(errno, EISDIR);
  });
}

// Another client has put a file in the place of a directory, and replaces that again and again: the
// LOOKUP of the VFS's second walk opens what it finds.
TEST_F(NameCallsTest, AFileInThePlaceOfADirectoryIsOpened) {
  server_->Add(kRoot, "d", FileType::kDirectory);
  const auto replace = [this] {
    server_->Destroy(kRoot, "d");
    server_->Add(kRoot, "d", FileType::kRegular);
  };
  std::atomic<int> replacements{0};
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure != "LOOKUP" || call.name() != "d" || replacements == 0) return;
    --replacements;
    replace();
  };
  Served([&] {
    EXPECT_EQ(TypeOf("d"), static_cast<mode_t>(S_IFDIR));
    replace();
    replacements = 3;  // more than the LOOKUPs of one walk
    EXPECT_EQ(Closed(open(At("d").c_str(), O_RDONLY | O_CLOEXEC)), 0) << errno;
    EXPECT_EQ(replacements, 0);
  });
  on_reply_ = {};
}

#ifndef NDEBUG
// RELEASE has no caller that waits: the kernel hands it out before what the caller does next, and
// two threads receive both. NAME-31.
TEST_F(NameCallsTest, AFileThatWasClosedIsNotHidden) {
  const auto create = [this](const char* name) {
    return open(At(name).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  };
  const auto create_f = [&] { return create("f"); };
  // Opens and removes "d/f", which is hidden then.
  const auto hide = [&] {
    const int fd = create("d/f");
    EXPECT_EQ(unlink(At("d/f").c_str()), 0);
    return fd;
  };
  const struct {
    const char* name;
    std::function<int()> open;
    std::function<int()> change;
    int renames;
  } rows[] = {
      {"unlink", create_f, [&] { return unlink(At("f").c_str()); }, 0},
      {"rename over it", create_f, [&] { return rename(At("g").c_str(), At("f").c_str()); }, 1},
      {"rename of it", create_f, [&] { return rename(At("f").c_str(), At("h").c_str()); }, 1},
      {"rename over its directory", hide, [&] { return rename(At("e").c_str(), At("d").c_str()); },
       1},
      {"rmdir", hide, [&] { return rmdir(At("d").c_str()); }, 0},
  };
  for (const bool by_name : {false, true}) {
    for (const auto& row : rows) {
      SCOPED_TRACE(testing::Message() << row.name << (by_name ? ", by name" : ""));
      MountAnew();  // the end of a mount shuts its client down
      if (by_name) server_->OpenByName();
      server_->Add(kRoot, "d", FileType::kDirectory);
      server_->Add(kRoot, "e", FileType::kDirectory);
      server_->Add(kRoot, "g", FileType::kRegular);
      std::optional<StopAt> release, closed;
      Served([&] {
        const int fd = row.open();
        (void)protocol_->TakeLog();
        release.emplace("mount:release");
        closed.emplace("open:closed");
        rcu::SyncPointScript::OnReach("receivers:await", [&] { release->LetGo(); });
        EXPECT_EQ(Closed(fd), 0);
        EXPECT_EQ(row.change(), 0) << errno;
        release->LetGo();
        closed->LetGo();
      });
      int sent = 0;
      for (const fixtures::LoggedCall& call : protocol_->TakeLog())
        sent += call.procedure == "RENAME";
      EXPECT_EQ(sent, row.renames);
      rcu::SyncPointScript::ClearAll();
    }
  }
}

// More than the kernel hands out of these before one is answered.
TEST_F(NameCallsTest, ManyFilesThatWereClosedAreNotHidden) {
  constexpr int kFiles = 200;
  std::atomic<bool> may_close{false};
  Served([&] {
    std::vector<int> files;
    for (int i = 0; i < kFiles; ++i) {
      const std::string path = At("f" + std::to_string(i));
      files.push_back(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    rcu::SyncPointScript::OnReach("open:closed", [&] { may_close.wait(false); });
    for (const int fd : files) EXPECT_EQ(Closed(fd), 0);
    (void)protocol_->TakeLog();
    for (int i = 0; i < kFiles; ++i) {
      EXPECT_EQ(unlink(At("f" + std::to_string(i)).c_str()), 0);
    }
    may_close = true;
    may_close.notify_all();
  });
  for (const fixtures::LoggedCall& call : protocol_->TakeLog()) EXPECT_NE(call.procedure, "RENAME");
}
#endif

// Data that is yet to be written goes to the file, which it would not after a removal.
TEST_F(NameCallsTest, AFileThatIsToBeWrittenIsHidden) {
  for (const bool writes : {false, true}) {
    SCOPED_TRACE(writes);
    auto opened = client_->CreateAndOpen("f", kMayWrite, 0600, false, me_);
    ASSERT_TRUE(opened);
    const std::byte data[1]{};
    ASSERT_EQ(opened->file->PWrite(std::span(data, writes ? 1 : 0), 0), writes ? 1U : 0U);
    opened->file->BeginClose();
    EXPECT_EQ(client_->LeadsToOpenFile("f"), writes);
    (void)protocol_->TakeLog();
    EXPECT_EQ(client_->Unlink("f", me_), std::errc{});
    opened->file = nullptr;
    bool is_hidden = false;
    for (const fixtures::LoggedCall& call : protocol_->TakeLog())
      is_hidden |= call.procedure == "RENAME";
    EXPECT_EQ(is_hidden, writes);
    EXPECT_EQ(Stat("f"), kMissing);
  }
}

}  // namespace
}  // namespace nfswalk::mount
