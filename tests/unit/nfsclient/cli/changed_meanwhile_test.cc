// The commands that walk a tree, while other users put files into a directory that is being made,
// or take rights away from what was listed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/copy/copy_source.h"
#include "nfsclient/cli/copy/export_copy.h"
#include "nfsclient/cli/copy/local_descriptor.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk::cli {
namespace {

using fixtures::MemoryServer;
using testing::HasSubstr;

constexpr TreeOptions kAlone{.threads = 1};

class ChangedMeanwhileTest : public MemoryMount {
 protected:
  uint64_t Add(uint64_t directory, const std::string& name, FileType type, uint32_t mode,
               uint32_t uid) {
    const uint64_t file = server_->Add(directory, name, type);
    server_->Edit(file, [&](Attributes& attributes) {
      attributes.mode = mode;
      attributes.uid = uid;
    });
    return file;
  }

  // Runs `command(session)` with one thread; returns the messages.
  template <typename Command>
  std::string Messages(ExitCode expected, Command command) {
    const LocalDescriptor messages(memfd_create("messages", MFD_CLOEXEC));
    {
      Console console({.out_fd = messages.get(), .err_fd = messages.get()}, "test");
      Session session(*client_, console, "test", {});
      command(session);
      EXPECT_EQ(session.exit_code(), expected);
    }
    std::string text(static_cast<size_t>(lseek(messages.get(), 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(messages.get(), text.data(), text.size(), 0), std::ssize(text));
    return text;
  }
};

// As by a server with a default ACL that lets others write in each new directory, before the copy
// has taken that away.
TEST_F(ChangedMeanwhileTest, FilesPlantedInANewDirectoryOfAnExportGetNoCopies) {
  const uint32_t own = server_->Get(kRoot).uid, other = own + 2;
  for (const uint32_t uid : {own, other}) {
    SCOPED_TRACE(uid);
    NewServer();
    const uint64_t top = Add(kRoot, "top", FileType::kDirectory, 0775, own);
    Add(top, "key", FileType::kRegular, 0600, own);
    Add(Add(top, "sub", FileType::kDirectory, 0700, own), "inner", FileType::kRegular, 0600, own);
    server_->Add(kRoot, "copies", FileType::kDirectory);
    Mount();
    uint64_t planted = 0;
    on_reply_ = [&](const fixtures::Call& call) {
      if (call.procedure != "MKDIR" || planted != 0) return;
      const auto copy = server_->Lookup(*call.file, "copy", another_);
      const uint64_t made = MemoryServer::IdOf(copy.handle);
      Add(made, "key", FileType::kRegular, 0666, uid);
      planted = Add(made, "sub", FileType::kDirectory, 0777, uid);
    };
    const std::string messages =
        Messages(uid == own ? kExitOk : kExitPathFailed, [this](Session& session) {
          const auto source = ExportSource(*client_, session.credential());
          TaskThreads threads(0, 0);
          const std::shared_ptr<Node> copies = *client_->Resolve("copies", session.credential());
          ExportCopy copy(session, {.source = *source, .threads = threads}, copies, "copy", "copy");
          source->Walk("top", kAlone, copy);
        });
    on_reply_ = nullptr;
    ASSERT_NE(planted, 0U);
    EXPECT_EQ(server_->Get(planted).mode, 0777U);
    EXPECT_EQ(IsFile(Stat("copies/copy/sub/inner")), uid == own);
    if (uid == own) {
      EXPECT_EQ(messages, "");
    } else {
      EXPECT_THAT(messages,
                  HasSubstr("'top/sub' to 'copy/sub': Stale file handle (it was removed or "
                            "replaced meanwhile;"));
    }
    const uint64_t key = Stat("copies/copy/key");
    ASSERT_TRUE(IsFile(key));
    EXPECT_EQ(server_->Get(key).uid, own);
  }
}

// Its owner closes the file once it was listed; names are trusted, attributes are not.
TEST_F(ChangedMeanwhileTest, ChmodGivesNoRightsBackThatWereTakenAway) {
  options_.acregmin_s = options_.acregmax_s = 0;
  const uint64_t top = Add(kRoot, "top", FileType::kDirectory, 0755, 0);
  const uint64_t file = Add(top, "f", FileType::kRegular, 04755, 0);
  Mount();
  bool closed = false;
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure != "READDIR" || closed) return;
    server_->Edit(file, [](Attributes& attributes) { attributes.mode = 0700; });
    closed = true;
  };
  EXPECT_EQ(Messages(kExitOk,
                     [](Session& session) {
                       RunCommand(session, {"top"},
                                  ChmodOptions{.tree = kAlone,
                                               .recursive = true,
                                               .mode = *ModeChange::Parse("g+w")});
                     }),
            "");
  on_reply_ = nullptr;
  EXPECT_TRUE(closed);
  EXPECT_EQ(server_->Get(file).mode, 0720U);
  EXPECT_EQ(server_->Get(top).mode, 0775U);
}

}  // namespace
}  // namespace nfswalk::cli
