// Updates of the caches after our own changes (ATTR-11), with version 4's change_info4 (RFC 7530
// 2.2.8).
#include "nfsclient/nfs/change.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

class ChangeInfo : public MemoryMount {
 protected:
  void MountWith(bool atomic) {
    NewServer();
    server_->AnswerChangeInfo(atomic);
    directory_ = server_->Add(kRoot, "d", FileType::kDirectory);
    server_->Add(directory_, "sibling", FileType::kRegular);
    Mount();
    Look();
  }
  void Look() const {
    EXPECT_TRUE(IsFile(Stat("d/sibling")));
    EXPECT_EQ(Stat("d/missing"), kMissing);
  }
  void ChangeSomething() const {
    EXPECT_TRUE(client_->Create("d/own", 0644, true, me_).has_value());
    EXPECT_EQ(client_->Rename("d/own", "d/renamed", me_), std::errc{});
    EXPECT_EQ(client_->Unlink("d/renamed", me_), std::errc{});
  }

  uint64_t directory_ = 0;
};

// ATTR-11.
TEST_F(ChangeInfo, AnAtomicChangeOfOursCostsTheSiblingsNothing) {
  MountWith(true);
  ChangeSomething();
  EXPECT_EQ(Rpcs([&] { Look(); }), 0u);
}

// ATTR-11.
TEST_F(ChangeInfo, RepliesThatOvertakeEachOtherCostTheSiblingsNothing) {
  MountWith(true);
  std::atomic<int> made{0};
  std::thread other;
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure == "CREATE" && ++made == 1) {
      other = std::thread([&] { EXPECT_TRUE(client_->Create("d/second", 0644, true, me_)); });
      while (made != 2) std::this_thread::yield();
    }
  };
  EXPECT_TRUE(client_->Create("d/first", 0644, true, me_));
  other.join();
  on_reply_ = nullptr;
  EXPECT_EQ(Rpcs([&] {
              Look();
              EXPECT_TRUE(IsFile(Stat("d/first")));
              EXPECT_TRUE(IsFile(Stat("d/second")));
            }),
            0u);
}

// Another client may have made a change in between: each name costs one LOOKUP, rights and
// attributes none. ATTR-12.
TEST_F(ChangeInfo, AChangeThatIsNotAtomicCostsEachNameOneLookup) {
  MountWith(false);
  ChangeSomething();
  const size_t lookups = protocol_->Calls("LOOKUP");
  EXPECT_EQ(Rpcs([&] { Look(); }), 2u);
  EXPECT_EQ(protocol_->Calls("LOOKUP"), lookups + 2);
  EXPECT_EQ(Rpcs([&] { Look(); }), 0u);
}

// ATTR-12.
TEST_F(ChangeInfo, AChangeThatTheServerRefusesCostsNothing) {
  MountWith(false);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client_->MakeDirectory("d/sibling", 0755, me_).error(), std::errc::file_exists);
  }
  // The name is looked up again, and nothing else.
  EXPECT_EQ(Rpcs([&] { Look(); }), 1u);
}

TEST_F(ChangeInfo, AForeignChangeBeforeOursIsSeenEitherWay) {
  for (const bool atomic : {true, false}) {
    MountWith(atomic);
    server_->Add(directory_, "missing", FileType::kRegular);
    ChangeSomething();
    EXPECT_TRUE(IsFile(Stat("d/missing"))) << atomic;
  }
}

// --- found by the oracle, each with its interleaving: after our own changes the caches match the
// server ---

class OwnChange : public MemoryMount {
 protected:
  OwnChange() { Mount(); }

  Attributes Get(std::string_view path) const {
    auto attributes = client_->Stat(path, me_);
    EXPECT_TRUE(attributes.has_value()) << path;
    return attributes.value_or(Attributes{});
  }
};

TEST_F(OwnChange, AFileThatIsRenamedOntoItselfIsStillFound) {
  const uint64_t file = Make(FileType::kRegular, "f");
  Rename("f", "f");
  EXPECT_EQ(Get("f").fileid, file);
}

// The reply to the creation is older than a rename in between.
TEST_F(OwnChange, TheReplyToACreationDoesNotRevalidateWhatARenameInvalidated) {
  const uint64_t directory = Make(FileType::kDirectory, "d");
  // A rename changes the ctime of what it moves.
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure == "RENAME") server_->Edit(directory, [](Attributes&) {});
  };
  WhileReplyIsInFlight("CREATE", [&] { Rename("d", "e"); });
  Make(FileType::kRegular, "d/f");
  EXPECT_TRUE(reply_came_);
  EXPECT_EQ(Get("e"), server_->Get(directory));
}

// Nor what another client has undone since, whose time is an earlier one: the server's clock was set
// back (ATTR-5).
TEST_F(OwnChange, TheReplyToACreationDoesNotBringBackWhatWasRemovedSince) {
  const uint64_t directory = Make(FileType::kDirectory, "d");
  const Attributes before = server_->Get(directory);
  WhileReplyIsInFlight("CREATE", [&] {
    server_->Take(directory, "f");
    server_->Edit(
        directory,
        [&](Attributes& now) {
          now.ctime = {before.ctime.seconds - 100, 0};
          now.mtime = now.ctime;
        },
        /*quietly=*/true);
    Notice("d");
  });
  const auto created = client_->Create("d/f", 0644, true, me_);
  EXPECT_TRUE(reply_came_);
  ASSERT_TRUE(created.has_value());
  EXPECT_EQ(created->name_valid_ns, 0u);
  EXPECT_EQ(Stat("d/f"), kMissing);
  EXPECT_EQ(Get("d"), server_->Get(directory));
}

// The inode of our change was evicted while an older reply was in flight.
TEST_F(OwnChange, AnAnswerFromBeforeAChangeOfOursDoesNotFillANewInode) {
  const uint64_t file = Make(FileType::kRegular, "f");
  ASSERT_EQ(client_->Link("f", "g", me_), std::errc{});
  ASSERT_EQ(Get("g").fileid, file);
  client_->DropCaches();
  ASSERT_EQ(Get("f").fileid, file);
  WhileReplyIsInFlight("LOOKUP", [&] {
    EXPECT_TRUE(client_->SetAttributesOf("f", {.mode = 0600}, me_).has_value());
    client_->DropCaches();
  });
  (void)Get("g");
  EXPECT_TRUE(reply_came_);
  EXPECT_EQ(Get("g"), server_->Get(file));
}

// Nor does the inode of another file ask again: the order of replies is each file's own.
TEST_F(OwnChange, AnAnswerThatAChangeOfAnotherFileOvertakesIsTrusted) {
  Make(FileType::kRegular, "f");
  const uint64_t other = server_->Add(kRoot, "g", FileType::kRegular);
  const size_t asked = protocol_->Calls("GETATTR");
  WhileReplyIsInFlight("LOOKUP", [&] {
    EXPECT_TRUE(client_->SetAttributesOf("f", {.mode = 0600}, me_).has_value());
  });
  EXPECT_EQ(Get("g").fileid, other);
  EXPECT_TRUE(reply_came_);
  EXPECT_EQ(protocol_->Calls("GETATTR"), asked);
}

// The reply to the GETATTR was rejected as outdated, and the cached attributes were older than the
// call. ATTR-10.
TEST_F(OwnChange, AStatThatIsOvertakenByARenameDoesNotAnswerWithWhatWasBeforeIt) {
  const uint64_t file = Make(FileType::kRegular, "a");
  Rename("a", "b");
  const Attributes since = server_->Get(file);
  WhileReplyIsInFlight("GETATTR", [&] { Rename("b", "c"); });
  const Attributes seen = Get("b");
  EXPECT_TRUE(reply_came_);
  EXPECT_GE(seen.ctime.seconds, since.ctime.seconds);
}

// The unlink dropped the only known name, and the inode was no longer found by its handle: the new
// name got a second inode, and changes by one name did not show by the other.
TEST_F(OwnChange, ALinkThatIsMadeWhileTheOnlyNameGoesLeadsToTheSameInodeAsOthers) {
  Make(FileType::kDirectory, "d");
  const uint64_t file = Make(FileType::kRegular, "f");
  ASSERT_EQ(Get("f").nlink, 1u);
  WhileReplyIsInFlight("LINK", [&] { EXPECT_EQ(client_->Unlink("f", me_), std::errc{}); });
  ASSERT_EQ(client_->Link("f", "d/g", me_), std::errc{});
  EXPECT_TRUE(reply_came_);
  ASSERT_EQ(client_->Link("d/g", "d/h", me_), std::errc{});
  // One name is dropped while a walk is at the other.
  ASSERT_EQ(client_->Access("d", kMayRead, me_), std::errc{});
  WhileReplyIsInFlight("ACCESS", [&] { client_->DropCaches(); });
  ASSERT_EQ(client_->Access("d/g", kMayRead, me_), std::errc{});
  ASSERT_TRUE(reply_came_);
  ASSERT_TRUE(client_->SetAttributesOf("d/h", {.mode = 0600}, me_).has_value());
  EXPECT_EQ(Get("d/g"), server_->Get(file));
}

// Another client has moved `d/p` to `e/p`, and made another of the old name, which is removed here.
// The node that is held and the new name have one inode: a change by one shows by the other.
class OwnChangeOfAStaleName : public OwnChange, public testing::WithParamInterface<FileType> {
 protected:
  OwnChangeOfAStaleName()
      : from_(Make(FileType::kDirectory, "d")), to_(Make(FileType::kDirectory, "e")) {}

  void MoveOnServer(std::string_view name) {
    file_ = Make(GetParam(), "d/" + std::string(name));
    auto node = client_->Resolve("d/" + std::string(name), me_);
    ASSERT_TRUE(node.has_value());
    node_ = std::move(*node);
    server_->Move(from_, to_, name);
    server_->Add(from_, name, GetParam());
  }
  void ExpectOneInode(const std::string& name) {
    EXPECT_EQ(Get(name).fileid, file_);
    EXPECT_TRUE(node_->SetAttributesOf("", {.mode = 0600}, me_).has_value());
    EXPECT_EQ(Get(name), server_->Get(file_));
    node_ = nullptr;
  }

  const uint64_t from_, to_;
  uint64_t file_ = 0;
  std::unique_ptr<Node> node_;
};

INSTANTIATE_TEST_SUITE_P(Types, OwnChangeOfAStaleName,
                         testing::Values(FileType::kRegular, FileType::kDirectory),
                         [](const auto& test) {
                           return test.param == FileType::kRegular ? "Files" : "Directories";
                         });

// INODE-27.
TEST_P(OwnChangeOfAStaleName, AnUnlinkLeavesTheInodeToTheFile) {
  MoveOnServer("p");
  Remove(GetParam(), "d/p");
  ExpectOneInode("e/p");
}

TEST_P(OwnChangeOfAStaleName, ARenameLeavesTheInodeToTheFile) {
  MoveOnServer("p");
  Make(GetParam(), "d/n");
  Rename("d/n", "d/p");
  ExpectOneInode("e/p");
}

// NAME-31. One of two links went before, and the server does not say how many there are.
TEST_F(OwnChange, AnOpenFileKeepsAHiddenNameWhereItsLinksAreNotKnown) {
  Make(FileType::kRegular, "f");
  ASSERT_EQ(client_->Link("f", "g", me_), std::errc{});
  ASSERT_EQ(Get("f").nlink, 2u);
  const auto file = client_->Open("f", kMayRead, me_);
  ASSERT_TRUE(file.has_value());
  ASSERT_EQ(client_->Unlink("g", me_), std::errc{});
  const size_t removed = protocol_->Calls("REMOVE");
  protocol_->FailOnce("GETATTR", std::errc::io_error);
  EXPECT_EQ(client_->Unlink("f", me_), std::errc{});
  EXPECT_EQ(protocol_->Calls("REMOVE"), removed);
  EXPECT_EQ((*file)->Close(), std::errc{});
}

// NAME-38. What is known of the name may be old.
TEST_F(OwnChange, AnUnlinkOfADirectoryIsNotSent) {
  Make(FileType::kDirectory, "d");
  const uint64_t elsewhere = Make(FileType::kDirectory, "e");
  for (const bool is_cached : {true, false}) {
    if (!is_cached) client_->DropCaches();
    EXPECT_EQ(client_->Unlink("d", me_), std::errc::is_a_directory) << is_cached;
  }
  EXPECT_EQ(protocol_->Calls("REMOVE"), 0u);
  server_->Move(kRoot, elsewhere, "d");
  server_->Add(kRoot, "d", FileType::kRegular);
  EXPECT_EQ(client_->Unlink("d", me_), std::errc{});
  EXPECT_EQ(Stat("d"), kMissing);
  EXPECT_TRUE(client_->Stat("e/d", me_).has_value());
}

// A file of two names, one of which replaces `x` after a change of `x` has looked it up: the effect
// of the change on the file shows by its other name, `r`.
class OwnChangeOfAnotherFile : public OwnChange {
 protected:
  OwnChangeOfAnotherFile() : file_(Make(FileType::kRegular, "q")) {
    Make(FileType::kRegular, "x");
    EXPECT_EQ(client_->Link("q", "r", me_), std::errc{});
    EXPECT_EQ(Get("r").nlink, 2u);
    OnceAt("change:names-known", [this] {
      reached_ = true;
      Rename("q", "x");
      EXPECT_EQ(Get("r"), server_->Get(file_));
    });
  }

  void ExpectKnownAsItIs() {
    EXPECT_TRUE(reached_);
    EXPECT_EQ(Get("r"), server_->Get(file_));
  }

  const uint64_t file_;
};

// ATTR-16.
TEST_F(OwnChangeOfAnotherFile, AnUnlinkTakesALinkFromTheFileThatItRemovedAName) {
  EXPECT_EQ(client_->Unlink("x", me_), std::errc{});
  ExpectKnownAsItIs();
}

TEST_F(OwnChangeOfAnotherFile, ARenameTakesALinkFromTheFileThatItReplaced) {
  Make(FileType::kRegular, "y");
  Rename("y", "x");
  ExpectKnownAsItIs();
}

TEST_F(OwnChangeOfAnotherFile, ARenameGivesANewTimeToTheFileThatItMoved) {
  Rename("x", "z");
  ExpectKnownAsItIs();
}

// A change is made and answered while a stat of the same file, or a lookup, is about to copy the
// cached attributes: they are those of before it or of after it. The count of links fell before the
// time of that change was known.
struct ChangeOfAttributes {
  const char* name;
  std::errc (*make)(Client&, const Credential&);
};

std::errc ErrorOf(const auto& result) { return result ? std::errc{} : result.error(); }

std::errc Overwrite(Client& client, const Credential& who, uint64_t offset_bytes) {
  auto file = client.Open("f", kMayWrite, who);
  if (!file) return file.error();
  const std::byte text[] = {std::byte{'x'}};
  const auto written = (*file)->PWrite(text, offset_bytes);
  return written ? (*file)->Close() : written.error();
}

constexpr ChangeOfAttributes kChangesOfAttributes[] = {
    {"Unlink", [](Client& c, const Credential& who) { return c.Unlink("g", who); }},
    {"RenameOver", [](Client& c, const Credential& who) { return c.Rename("other", "g", who); }},
    {"Rename", [](Client& c, const Credential& who) { return c.Rename("g", "h", who); }},
    {"Link", [](Client& c, const Credential& who) { return c.Link("f", "h", who); }},
    {"Mode",
     [](Client& c, const Credential& who) {
       return ErrorOf(c.SetAttributesOf("f", {.mode = 0600}, who));
     }},
    {"Truncate",
     [](Client& c, const Credential& who) {
       return ErrorOf(c.SetAttributesOf("f", {.size_bytes = 1}, who));
     }},
    {"Grow", [](Client& c, const Credential& who) { return Overwrite(c, who, 4096); }},
    {"Overwrite", [](Client& c, const Credential& who) { return Overwrite(c, who, 0); }},
};

class OwnChangeDuringAStat : public OwnChange,
                             public testing::WithParamInterface<ChangeOfAttributes> {
 protected:
  OwnChangeDuringAStat() : file_(Make(FileType::kRegular, "f")) {
    Make(FileType::kRegular, "other");
    EXPECT_EQ(client_->Link("f", "g", me_), std::errc{});
    before_ = Get("f");
    EXPECT_EQ(before_.nlink, 2u);
  }

  void MakeBeforeTheCopy() {
    At("stat:before-attributes", 1, [this] { EXPECT_EQ(GetParam().make(*client_, me_), kOk); });
  }

  void ExpectOfOneMoment(const Attributes& seen) {
    const Attributes after = server_->Get(file_);
    EXPECT_NE(before_, after);
    EXPECT_EQ(seen, seen.change == before_.change ? before_ : after);
  }

  const uint64_t file_;
  Attributes before_;
};

INSTANTIATE_TEST_SUITE_P(Changes, OwnChangeDuringAStat, testing::ValuesIn(kChangesOfAttributes),
                         [](const auto& test) { return std::string(test.param.name); });

// WALK-14.
TEST_P(OwnChangeDuringAStat, TheStatShowsTheAttributesOfOneMoment) {
  MakeBeforeTheCopy();
  ExpectOfOneMoment(Get("f"));
  EXPECT_TRUE(reached_);
}

TEST_P(OwnChangeDuringAStat, TheLookupShowsTheAttributesOfOneMoment) {
  MakeBeforeTheCopy();
  const auto found = client_->Lookup("f", me_);
  ASSERT_TRUE(found.has_value());
  ExpectOfOneMoment(found->attributes);
  EXPECT_TRUE(reached_);
}

// ATTR-16.
TEST_P(OwnChangeDuringAStat, CachedAttributesAreOfOneMoment) {
  const auto node = client_->Resolve("f", me_);
  ASSERT_TRUE(node.has_value());
  ASSERT_EQ(GetParam().make(*client_, me_), kOk);
  ExpectOfOneMoment((*node)->attributes());
}

// The end that a write has advanced is no part of what a reply showed before it.
TEST_F(OwnChange, AStatThatAWriteOvertakesShowsWhatIsWritten) {
  const uint64_t id = Make(FileType::kRegular, "f");
  Get("f");
  auto file = client_->Open("f", kMayWrite, me_);
  ASSERT_TRUE(file.has_value());
  At("stat:before-attributes", 1, [&] {
    const std::byte text[] = {std::byte{'x'}};
    EXPECT_TRUE((*file)->PWrite(text, 4096).has_value());
  });
  const Attributes seen = Get("f");
  EXPECT_TRUE(reached_);
  EXPECT_EQ(seen, server_->Get(id));
  EXPECT_EQ((*file)->Close(), std::errc{});
}

// --- one limit for all that a call of a soft mount waits for ---

// A lookup that does not end keeps its name and its directory; a change keeps its directories.
TEST_F(OwnChange, ACallDoesNotWaitLongerForOthersThanForTheServer) {
  Make(FileType::kDirectory, "d");
  Make(FileType::kRegular, "d/f");
  std::string missing = "new";
  const auto stat = [&](const std::string& path) { return ErrorOf(client_->Stat(path, me_)); };
  const std::vector<std::pair<const char*, std::function<std::errc()>>> calls = {
      {"stat", [&] { return stat("d/" + missing); }},
      {"create", [&] { return ErrorOf(client_->Create("d/" + missing, 0644, true, me_)); }},
      {"mkdir", [&] { return ErrorOf(client_->MakeDirectory("d/dir", 0755, me_)); }},
      {"symlink", [&] { return ErrorOf(client_->MakeSymlink("f", "d/link", me_)); }},
      {"link", [&] { return client_->Link("d/f", "d/g", me_); }},
      {"unlink", [&] { return client_->Unlink("d/f", me_); }},
      {"rmdir", [&] { return client_->RemoveDirectory("d/dir", me_); }},
      {"rename", [&] { return client_->Rename("d/f", "d/g", me_); }},
      {"rename out", [&] { return client_->Rename("d/f", "g", me_); }},
  };
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    WhileReplyIsInFlight(
        "LOOKUP",
        [&] {
          protocol_->LimitCalls(std::chrono::milliseconds(20));
          EXPECT_EQ(call(), std::errc::timed_out);
        },
        missing);
    protocol_->LimitCalls(std::chrono::hours(1));
    EXPECT_EQ(stat("d/" + missing), std::errc::no_such_file_or_directory);
    EXPECT_TRUE(reply_came_);
    missing += "+";
  }
  WhileReplyIsInFlight("MKDIR", [&] {
    protocol_->LimitCalls(std::chrono::milliseconds(20));
    EXPECT_EQ(stat("d/other"), std::errc::timed_out);
    EXPECT_EQ(client_->ReadDir("d", me_, [](const auto&) { return true; }), std::errc::timed_out);
  });
  protocol_->LimitCalls(std::chrono::hours(1));
  EXPECT_TRUE(client_->MakeDirectory("d/dir", 0755, me_).has_value());
  EXPECT_TRUE(reply_came_);
}

}  // namespace
}  // namespace nfswalk
