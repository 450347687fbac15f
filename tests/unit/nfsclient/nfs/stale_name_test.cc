// NAME-34: whatever the server answers by a name that is not what the caches say has the name asked
// anew, whichever call it was.
#include "nfsclient/nfs/stale_name.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

using nfs::InvalidReason;

constexpr std::errc kNone = std::errc::no_such_file_or_directory, kExists = std::errc::file_exists,
                    kIsDirectory = std::errc::is_a_directory,
                    kNotDirectory = std::errc::not_a_directory,
                    kNotEmpty = std::errc::directory_not_empty,
                    kInvalid = std::errc::invalid_argument,
                    kLoop = std::errc::too_many_symbolic_link_levels, kStale = protocol::kStale,
                    kNotAllowed = std::errc::permission_denied, kIo = std::errc::io_error;
constexpr std::errc kErrors[] = {kNone,    kExists, kIsDirectory, kNotDirectory, kNotEmpty,
                                 kInvalid, kLoop,   kStale,       kNotAllowed,   kIo};

// A call by the name "d/name", and what that is known as.
struct Call {
  const char* procedure;
  char known;  // '-': absent, 'f': a file, 'd': a directory
  std::function<std::errc(Client&, const Credential&)> make;
  // The errors that say that it is something else.
  std::vector<std::errc> contradictions;
};

template <class Result>
std::errc ErrorOf(const Result& result) {
  return result ? std::errc{} : result.error();
}

const std::vector<std::errc> kOfAbsent{kExists,  kIsDirectory, kNotDirectory, kNotEmpty,
                                       kInvalid, kLoop,        kStale};
const std::vector<std::errc> kOfFile{kNone, kIsDirectory, kNotEmpty, kInvalid, kLoop, kStale};
const std::vector<std::errc> kOfDirectory{kNone, kNotDirectory, kInvalid, kLoop, kStale};

const std::vector<Call>& AllCalls() {
  static const std::vector<Call> all{
      {"CREATE", '-',
       [](Client& c, const Credential& me) { return ErrorOf(c.Create("d/name", 0644, true, me)); },
       kOfAbsent},
      {"CREATE", '-',
       [](Client& c, const Credential& me) {
         return ErrorOf(c.CreateAndOpen("d/name", kMayRead, 0644, true, me));
       },
       kOfAbsent},
      {"MKDIR", '-',
       [](Client& c, const Credential& me) { return ErrorOf(c.MakeDirectory("d/name", 0755, me)); },
       kOfAbsent},
      {"SYMLINK", '-',
       [](Client& c, const Credential& me) { return ErrorOf(c.MakeSymlink("x", "d/name", me)); },
       kOfAbsent},
      {"LINK", '-',
       [](Client& c, const Credential& me) { return c.Link("other", "d/name", me); }, kOfAbsent},
      {"REMOVE", 'f', [](Client& c, const Credential& me) { return c.Unlink("d/name", me); },
       kOfFile},
      {"RMDIR", 'd', [](Client& c, const Credential& me) { return c.RemoveDirectory("d/name", me); },
       kOfDirectory},
      {"RENAME", 'f',
       [](Client& c, const Credential& me) { return c.Rename("d/name", "d/to", me); },
       {kNone, kExists, kIsDirectory, kNotDirectory, kNotEmpty, kInvalid, kLoop, kStale}},
      {"RENAME", 'f',
       [](Client& c, const Credential& me) { return c.Rename("other", "d/name", me); }, kOfFile},
      {"OPEN", 'f',
       [](Client& c, const Credential& me) { return ErrorOf(c.Open("d/name", kMayRead, me)); },
       kOfFile},
  };
  return all;
}

// The parameter: whether OPEN takes a name, as in version 4.
class StaleNameTest : public MemoryMount, public testing::WithParamInterface<bool> {
 protected:
  // A tree in which all names of the calls are cached.
  void MountTree(char known) {
    NewServer();
    told_.clear();
    if (GetParam()) server_->OpenByName();
    const uint64_t d = server_->Add(kRoot, "d", FileType::kDirectory);
    server_->Add(kRoot, "other", FileType::kRegular);
    if (known == 'f') server_->Add(d, "name", FileType::kRegular);
    if (known == 'd') server_->Add(d, "name", FileType::kDirectory);
    options_.rdirplus = false;
    Mount();
    ASSERT_EQ(client_->OnInvalidation([this](const Invalidation& event) {
      if (event.reason != InvalidReason::kName) return;
      const std::lock_guard lock(mutex_);
      told_.push_back(event.name);
    }),
              std::errc{});
    for (const char* path : {"d/name", "d/to", "other"}) {
      Warm(path);
      ASSERT_NE(Cached(path), kTryAgain) << path;
    }
    ASSERT_NE(Cached("d/name"), kTryAgain);
  }
  bool IsTold(const std::string& name) {
    client_->AwaitInvalidations();
    const std::lock_guard lock(mutex_);
    return std::ranges::find(told_, name) != told_.end();
  }
  void TearDown() override {
    if (client_) (void)client_->OnInvalidation({});
  }

  std::mutex mutex_;
  std::vector<std::string> told_;
};

TEST_P(StaleNameTest, IsAskedAnewAfterEachAnswerThatContradictsIt) {
  for (const Call& call : AllCalls()) {
    if (call.procedure == std::string("OPEN") && !GetParam()) continue;
    for (const std::errc error : kErrors) {
      SCOPED_TRACE(fmt::format("{} of '{}' answered with {}", call.procedure, call.known,
                               std::make_error_code(error).message()));
      MountTree(call.known);
      protocol_->Fail(call.procedure, error);
      EXPECT_NE(call.make(*client_, me_), std::errc{});
      protocol_->Fail(call.procedure, std::errc{});
      const bool contradicts =
          std::ranges::find(call.contradictions, error) != call.contradictions.end();
      const size_t before = protocol_->LookupsOf("name");
      const uint64_t found = Stat("d/name");
      const size_t lookups = protocol_->LookupsOf("name") - before;
      EXPECT_EQ(IsFile(found), call.known != '-');
      if (contradicts) {
        EXPECT_EQ(lookups, 1U);
        EXPECT_TRUE(IsTold("name"));
      } else if (error == kNotAllowed && call.known != '-') {
        EXPECT_EQ(lookups, 0U);
        EXPECT_FALSE(IsTold("name"));
      }
    }
  }
}

// The server knows the replaced file yet, which has no name that a link could be made of (linkat(2)).
TEST_P(StaleNameTest, ALinkIsOfTheFileThatHasTheNameNow) {
  MountTree('-');
  server_->Take(kRoot, "other");
  const uint64_t other = server_->Add(kRoot, "other", FileType::kRegular);
  protocol_->FailOnce("LINK", kNone);
  EXPECT_EQ(client_->Link("other", "d/name", me_), std::errc{});
  EXPECT_EQ(Stat("d/name"), other);
  // A node has no name to look up: it is asked for once.
  const auto node = client_->Resolve("other", me_), directory = client_->Resolve("d", me_);
  ASSERT_TRUE(node && directory);
  const size_t before = protocol_->Calls("LINK");
  protocol_->FailOnce("LINK", kNone);
  EXPECT_EQ((*node)->Link("", **directory, "to", me_), kNone);
  EXPECT_EQ(protocol_->Calls("LINK"), before + 1);
}

INSTANTIATE_TEST_SUITE_P(ByName, StaleNameTest, testing::Bool());

// A rename of g over f, which is open, is refused once f is hidden.
class RefusedReplacementTest : public MemoryMount {
 protected:
  void SetUp() override {
    replaced_ = server_->Add(kRoot, "f", FileType::kRegular);
    server_->Add(kRoot, "g", FileType::kRegular);
    Mount();
    Warm("f");
    Warm("g");
    open_ = *client_->Open("f", kMayRead, me_);
  }
  void TearDown() override {
    open_.reset();
    MemoryMount::TearDown();
  }
  std::vector<std::string> NamesOnServer() const {
    const auto listing = server_->ReadDir(server_->GetRoot(me_).handle, {}, false, me_);
    std::vector<std::string> names;
    for (const auto& entry : listing.entries) names.push_back(entry.name);
    std::ranges::sort(names);
    return names;
  }

  uint64_t replaced_ = 0;
  std::unique_ptr<File> open_;
};

// Leaves the file that was to be replaced under its hidden name: another client has made a file
// with its old name meanwhile (NAME-31).
TEST_F(RefusedReplacementTest, KeepsTheFileOfAnother) {
  uint64_t others = 0;
  WhileReplyIsInFlight("RENAME", [&] {  // of f to its hidden name
    others = server_->Add(kRoot, "f", FileType::kRegular);
    server_->Take(kRoot, "g");
  });
  EXPECT_EQ(client_->Rename("g", "f", me_), kNone);
  client_->InvalidateCaches();
  EXPECT_EQ(Stat("f"), others);
  const auto hidden = NamesOnServer();
  ASSERT_EQ(hidden.size(), 2U) << "until the last close";
  open_.reset();
  EXPECT_EQ(NamesOnServer(), std::vector<std::string>{"f"});
}

TEST_F(RefusedReplacementTest, HasItsNameAgain) {
  WhileReplyIsInFlight("RENAME", [&] { server_->Take(kRoot, "g"); });
  EXPECT_EQ(client_->Rename("g", "f", me_), kNone);
  EXPECT_EQ(NamesOnServer(), std::vector<std::string>{"f"});
  EXPECT_EQ(Stat("f"), replaced_);
  open_.reset();
  EXPECT_EQ(NamesOnServer(), std::vector<std::string>{"f"});
}

// FAT has no links, and no server need make one.
TEST_F(RefusedReplacementTest, HasItsNameAgainWhereThereAreNoLinks) {
  WhileReplyIsInFlight("RENAME", [&] { server_->Take(kRoot, "g"); });
  protocol_->FailOnce("LINK", std::errc::not_supported);
  EXPECT_EQ(client_->Rename("g", "f", me_), kNone);
  EXPECT_EQ(NamesOnServer(), std::vector<std::string>{"f"});
  EXPECT_EQ(Stat("f"), replaced_);
}

TEST_F(RefusedReplacementTest, KeepsTheFileOfAnotherWhereThereAreNoLinks) {
  uint64_t others = 0;
  WhileReplyIsInFlight("RENAME", [&] {
    others = server_->Add(kRoot, "f", FileType::kRegular);
    server_->Take(kRoot, "g");
  });
  protocol_->FailOnce("LINK", std::errc::not_supported);
  EXPECT_EQ(client_->Rename("g", "f", me_), kNone);
  EXPECT_EQ(Stat("f"), others);
  EXPECT_EQ(NamesOnServer().size(), 2U) << "until the last close";
}

// Nothing removes the only name that the file may have.
TEST_F(RefusedReplacementTest, StaysUnderTheHiddenNameWhereNothingGivesItsNameBack) {
  WhileReplyIsInFlight("RENAME", [&] { server_->Take(kRoot, "g"); });
  protocol_->FailOnce("LINK", std::errc::timed_out);
  EXPECT_EQ(client_->Rename("g", "f", me_), kNone);
  open_.reset();
  const auto names = NamesOnServer();
  ASSERT_EQ(names.size(), 1U);
  EXPECT_TRUE(names[0].starts_with(".nfs")) << names[0];
  EXPECT_EQ(Stat(names[0]), replaced_) << "and it is shown";
}

}  // namespace
}  // namespace nfswalk
