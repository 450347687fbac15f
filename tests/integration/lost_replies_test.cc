// Calls that may be executed once, whose reply is lost, and which the server does not know again:
// the connection that they are sent again over comes from another port, as behind a load balancer.
// The caller is told of success only where nothing else can have happened, and nothing of another
// client is removed, replaced or taken for the caller's.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/fixtures/cutting_proxy.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

constexpr std::errc kExists = std::errc::file_exists;
constexpr std::errc kNoEntry = std::errc::no_such_file_or_directory;

const Credential kOurs(1234, 1234);
const Credential kTheirs(2345, 2345);

// A client, whose it is, and the directory of the cell with a slash behind it.
struct Party {
  Client& client;
  const Credential& who;
  std::string at;

  std::string In(std::string_view name) const { return at + std::string(name); }
};

template <class T>
std::errc ErrorOf(const Result<T>& result) {
  return result ? kOk : result.error();
}

using Action = std::function<std::errc(const Party&)>;

// The name that a call is about, by which the proxy knows the call, and that of others.
constexpr const char* kName = "the-name";
constexpr const char* kNewName = "the-new-name";

std::errc MakeFileOf(const Party& party, uint32_t mode) {
  auto made = party.client.CreateAndOpen(party.In(kName), kMayWrite, mode, true, party.who);
  if (!made) return made.error();
  const std::string_view text = "theirs";
  (void)(*made).file->PWrite(std::as_bytes(std::span(text)), 0);
  return (*made).file->Close();
}
std::errc MakeFile(const Party& party) { return MakeFileOf(party, 0600); }
std::errc MakeSharedFile(const Party& party) { return MakeFileOf(party, 0666); }
std::errc MakeDirectory(const Party& party) {
  return ErrorOf(party.client.MakeDirectory(party.In(kName), 0750, party.who));
}
std::errc MakeSymlink(const Party& party) {
  return ErrorOf(party.client.MakeSymlink("target", party.In(kName), party.who));
}
std::errc MakeFifo(const Party& party) {
  return ErrorOf(
      party.client.MakeNode(party.In(kName), FileType::kFifo, 0640, Device{}, party.who));
}
std::errc Unlink(const Party& party) {
  return party.client.Unlink(party.In(kName), party.who);
}
std::errc RemoveDirectory(const Party& party) {
  return party.client.RemoveDirectory(party.In(kName), party.who);
}
Action OpenCreating(bool exclusive) {
  return [exclusive](const Party& party) {
    return ErrorOf(
        party.client.CreateAndOpen(party.In(kName), kMayWrite, 0640, exclusive, party.who));
  };
}
Action LinkOf(std::string_view file) {
  return [file](const Party& party) {
    return party.client.Link(party.In(file), party.In(kName), party.who);
  };
}
Action Move(std::string_view from, std::string_view to) {
  return [from, to](const Party& party) {
    return party.client.Rename(party.In(from), party.In(to), party.who);
  };
}
Action RenameTo(std::string_view name) { return Move(kName, name); }
Action Both(Action first, Action second) {
  return [=](const Party& party) {
    const std::errc error = first(party);
    return error == kOk ? second(party) : error;
  };
}

// Holds what the caller is told, and what the server has then: "name=owner:mode", of a regular file
// with its size, sorted.
struct Outcome {
  std::errc error;
  std::string left;
};

struct Row {
  const char* name;
  std::vector<const char*> files = {};  // there before, not ours; each contains its name
  const char* directory = nullptr;      // the same, and empty
  bool is_open = false;                 // the caller has the name open
  Action call = {};
  // No other client changes the directory.
  Outcome alone = {};
  // Another client changes it before the call is executed; or, if the first transmission is never
  // executed, before the second.
  Action first = {};
  Outcome after_theirs = {};
  std::optional<Outcome> instead_of_ours = {};  // if the latter differs
  // Outcome if the server executes the call once, behind theirs; if it differs from `after_theirs`.
  std::optional<Outcome> in_order = {};
  // Another client changes it between the execution and the repetition.
  Action behind = {};
  Outcome before_theirs = {};
};

// A name that is there is never taken for the caller's (WIRE-2): what another client has made looks
// alike. Only an exclusive create has a verifier to prove it (WIRE-3).
std::vector<Row> Creations() {
  return {
      // The file of another client is opened, by its rights.
      {.name = "Create",
       .call = OpenCreating(false),
       .alone = {kOk, "the-name=ours:640:0"},
       .first = MakeFile,
       .after_theirs = {std::errc::permission_denied, "the-name=theirs:600:6"},
       .behind = Both(Unlink, MakeFile),
       .before_theirs = {std::errc::permission_denied, "the-name=theirs:600:6"}},
      // The other client's file has rights that allow the open: nfs-ganesha looks at them first
      // with version 4.
      {.name = "CreateExclusive",
       .call = OpenCreating(true),
       .alone = {kOk, "the-name=ours:640:0"},
       .first = MakeSharedFile,
       .after_theirs = {kExists, "the-name=theirs:666:6"},
       .behind = Both(Unlink, MakeSharedFile),
       .before_theirs = {kExists, "the-name=theirs:666:6"}},
      {.name = "MakeDirectory",
       .call = MakeDirectory,
       .alone = {kExists, "the-name=ours:750"},
       .first = MakeDirectory,
       .after_theirs = {kExists, "the-name=theirs:750"},
       .behind = Both(RemoveDirectory, MakeDirectory),
       .before_theirs = {kExists, "the-name=theirs:750"}},
      {.name = "MakeSymlink",
       .call = MakeSymlink,
       .alone = {kExists, "the-name=ours:777"},
       .first = MakeSymlink,
       .after_theirs = {kExists, "the-name=theirs:777"},
       .behind = Both(Unlink, MakeSymlink),
       .before_theirs = {kExists, "the-name=theirs:777"}},
      {.name = "MakeNode",
       .call = MakeFifo,
       .alone = {kExists, "the-name=ours:640"},
       .first = MakeFifo,
       .after_theirs = {kExists, "the-name=theirs:640"},
       .behind = Both(Unlink, MakeFifo),
       .before_theirs = {kExists, "the-name=theirs:640"}},
      {.name = "Link",
       .files = {"a", "bcd"},
       .call = LinkOf("a"),
       .alone = {kExists, "a=kept:666:1 bcd=kept:666:3 the-name=kept:666:1"},
       .first = LinkOf("bcd"),
       .after_theirs = {kExists, "a=kept:666:1 bcd=kept:666:3 the-name=kept:666:3"},
       .behind = Both(Unlink, LinkOf("bcd")),
       .before_theirs = {kExists, "a=kept:666:1 bcd=kept:666:3 the-name=kept:666:3"}},
      // As a lock that is a link of a file which all know.
      {.name = "LinkAlike",
       .files = {"a"},
       .call = LinkOf("a"),
       .alone = {kExists, "a=kept:666:1 the-name=kept:666:1"},
       .first = LinkOf("a"),
       .after_theirs = {kExists, "a=kept:666:1 the-name=kept:666:1"},
       .behind = Both(Unlink, LinkOf("a")),
       .before_theirs = {kExists, "a=kept:666:1 the-name=kept:666:1"}},
  };
}

// Success is that the object has the new name. The name's next object stays where it is.
std::vector<Row> Renames() {
  return {
      {.name = "Rename",
       .files = {kName},
       .call = RenameTo(kNewName),
       .alone = {kOk, "the-new-name=kept:666:8"},
       .first = RenameTo("elsewhere"),
       .after_theirs = {kNoEntry, "elsewhere=kept:666:8"},
       .behind = MakeFile,
       .before_theirs = {kOk, "the-name=theirs:600:6 the-new-name=kept:666:8"}},
      // Finding the new name proves nothing: it was there before.
      {.name = "RenameOver",
       .files = {kName, kNewName},
       .call = RenameTo(kNewName),
       .alone = {kOk, "the-new-name=kept:666:8"},
       .first = RenameTo("elsewhere"),
       .after_theirs = {kNoEntry, "elsewhere=kept:666:8 the-new-name=kept:666:12"},
       .behind = MakeFile,
       .before_theirs = {kOk, "the-name=theirs:600:6 the-new-name=kept:666:8"}},
      {.name = "RenameDirectory",
       .directory = kName,
       .call = RenameTo(kNewName),
       .alone = {kOk, "the-new-name=kept:777"},
       .first = RenameTo("elsewhere"),
       .after_theirs = {kNoEntry, "elsewhere=kept:777"},
       .behind = MakeDirectory,
       .before_theirs = {kOk, "the-name=theirs:750 the-new-name=kept:777"}},
      // Nothing on the server tells the two apart, and the names are what the caller asks for.
      {.name = "RenameAlike",
       .files = {kName},
       .call = RenameTo(kNewName),
       .alone = {kOk, "the-new-name=kept:666:8"},
       .first = RenameTo(kNewName),
       .after_theirs = {kOk, "the-new-name=kept:666:8"},
       .in_order = Outcome{kNoEntry, "the-new-name=kept:666:8"},
       .behind = Move(kNewName, "elsewhere"),
       .before_theirs = {kNoEntry, "elsewhere=kept:666:8"}},
      // The renamed file is another client's, unseen by the caller's client: that is no proof, and
      // the call ends with ENOENT, as the kernel's client reports. Where the call was not executed
      // before, nothing shows that it was, and it is sent again.
      {.name = "RenameReplaced",
       .files = {kName},
       .call = RenameTo(kNewName),
       .alone = {kOk, "the-new-name=kept:666:8"},
       .first = Both(RenameTo("elsewhere"), MakeFile),
       .after_theirs = {kNoEntry, "elsewhere=kept:666:8 the-new-name=theirs:600:6"},
       .instead_of_ours = Outcome{kOk, "elsewhere=kept:666:8 the-new-name=theirs:600:6"},
       .in_order = Outcome{kOk, "elsewhere=kept:666:8 the-new-name=theirs:600:6"},
       .behind = MakeFile,
       .before_theirs = {kOk, "the-name=theirs:600:6 the-new-name=kept:666:8"}},
  };
}

// Success is that the object has lost this name for good (WIRE-2): who took it is not told by
// anything on the server, and the name is what the caller asks for.
std::vector<Row> Removals() {
  return {
      {.name = "Remove",
       .files = {kName},
       .call = Unlink,
       .alone = {kOk, ""},
       .first = Unlink,
       .after_theirs = {kOk, ""},
       .in_order = Outcome{kNoEntry, ""},
       .behind = MakeFile,
       .before_theirs = {kOk, "the-name=theirs:600:6"}},
      // An object that has all its links was not removed.
      {.name = "RemoveMoved",
       .files = {kName},
       .call = Unlink,
       .alone = {kOk, ""},
       .first = RenameTo("elsewhere"),
       .after_theirs = {kNoEntry, "elsewhere=kept:666:8"},
       .behind = MakeFile,
       .before_theirs = {kOk, "the-name=theirs:600:6"}},
      // The caches still show the object that another client has removed, so the other client's is
      // not removed where the first transmission was not executed.
      {.name = "RemoveReplaced",
       .files = {kName},
       .call = Unlink,
       .alone = {kOk, ""},
       .first = Both(Unlink, MakeFile),
       .after_theirs = {kOk, ""},
       .instead_of_ours = Outcome{kOk, "the-name=theirs:600:6"},
       .in_order = Outcome{kOk, ""},
       .behind = MakeFile,
       .before_theirs = {kOk, "the-name=theirs:600:6"}},
      // Hidden by a RENAME until the last close (NAME-31).
      {.name = "RemoveOpen",
       .files = {kName},
       .is_open = true,
       .call = Unlink,
       .alone = {kOk, ".nfs=kept:666:8"},
       .first = RenameTo("elsewhere"),
       .after_theirs = {kNoEntry, "elsewhere=kept:666:8"},
       .behind = MakeFile,
       .before_theirs = {kOk, ".nfs=kept:666:8 the-name=theirs:600:6"}},
      {.name = "RemoveDirectory",
       .directory = kName,
       .call = RemoveDirectory,
       .alone = {kOk, ""},
       .first = RemoveDirectory,
       .after_theirs = {kOk, ""},
       .in_order = Outcome{kNoEntry, ""},
       .behind = MakeDirectory,
       .before_theirs = {kOk, "the-name=theirs:750"}},
      {.name = "RemoveDirectoryMoved",
       .directory = kName,
       .call = RemoveDirectory,
       .alone = {kOk, ""},
       .first = RenameTo("elsewhere"),
       .after_theirs = {kNoEntry, "elsewhere=kept:777"},
       .behind = MakeDirectory,
       .before_theirs = {kOk, "the-name=theirs:750"}},
  };
}

std::vector<Row> Rows() {
  std::vector<Row> rows = Creations();
  for (const auto& more : {Renames(), Removals()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

// Mounts two clients of one server; the caller's reaches it through the proxy.
class LostReplies : public fixtures::MountedExport,
                    public testing::WithParamInterface<std::tuple<int, size_t, bool>> {
 protected:
  int version() const override { return std::get<0>(GetParam()); }

  void SetUp() override {
    MountedExport::SetUp();
    if (IsSkipped()) return;
    row_ = Rows()[std::get<1>(GetParam())];
    const fixtures::NfsServer::NetworkScope inside(server());
    proxy_.emplace(server().nfs_port(),
                   fixtures::CuttingProxy::Listeners{
                       .fate = [] { return fixtures::ConnectionFate{.records = UINT32_MAX}; },
                       .on_cut = [this] { std::exchange(on_cut_, [] {})(); },
                       .on_connected = [] {}},
                   fixtures::CuttingProxy::SourcePort::kNew);
    const bool trusts_names = std::get<2>(GetParam());
    auto options = ParseMountUrl(server().Url(trusts_names ? "actimeo=600" : "noac", version()));
    ASSERT_TRUE(options.has_value()) << options.error();
    options->server.nfs_port = proxy_->port();
    auto client = Client::Mount(*options);
    ASSERT_TRUE(client.has_value()) << client.error().message;
    ours_ = std::move(*client);
    theirs_ = Mount("noac");
    ASSERT_NE(theirs_, nullptr);
    // Version 4 introduces its clients to the server with their first open files.
    std::filesystem::create_directory(Backing("warm"));
    std::filesystem::permissions(Backing("warm"), std::filesystem::perms::all);
    for (const Party& party : {Ours("warm"), Theirs("warm")}) {
      ASSERT_EQ(OpenCreating(true)(party), kOk);
      ASSERT_EQ(Unlink(party), kOk);
    }
  }
  void TearDown() override {
    ours_.reset();
    proxy_.reset();
  }

  Party Ours(const std::string& cell) const { return {*ours_, kOurs, Path(cell + "/")}; }
  Party Theirs(const std::string& cell) const { return {*theirs_, kTheirs, Path(cell + "/")}; }

  // Makes the directory of a cell, and has the caller's client know all that is in it.
  void Prepare(const std::string& cell) const {
    const auto make = [&](const std::string& name, bool is_directory) {
      const std::string path = Backing(cell + "/" + name);
      if (is_directory) {
        std::filesystem::create_directory(path);
      } else {
        std::ofstream(path) << name;
      }
      std::filesystem::permissions(path, is_directory ? std::filesystem::perms::all
                                                      : std::filesystem::perms{0666});
    };
    make("", true);
    for (const char* file : row_.files) make(file, false);
    if (row_.directory != nullptr) make(row_.directory, true);
    const Party ours = Ours(cell);
    for (const char* name : {"", "a", "bcd", kName, kNewName}) {
      (void)ours.client.Stat(ours.In(name), ours.who);
    }
    (void)ours.client.Access(ours.In(""), kMayRead | kMayWrite | kMayExecute, ours.who);
  }
  // Whether the caller's client has the names as the server has them.
  void ExpectNames(const std::string& cell) const {
    const Party ours = Ours(cell);
    for (const char* name : {kName, kNewName}) {
      const auto found = ours.client.Stat(ours.In(name), ours.who, {.no_follow = true});
      struct stat there = {};
      const bool exists = lstat(Backing(cell + "/" + name).c_str(), &there) == 0;
      EXPECT_EQ(ErrorOf(found), exists ? kOk : kNoEntry) << name;
      const bool is_found = found && exists;
      EXPECT_EQ(is_found ? found->fileid : 0, is_found ? there.st_ino : 0) << name;
    }
  }

  static std::string OwnerName(uid_t uid) {
    return uid == kOurs.uid() ? "ours" : uid == kTheirs.uid() ? "theirs" : "kept";
  }
  std::string Left(const std::string& cell) const {
    std::vector<std::string> entries;
    for (const auto& entry : std::filesystem::directory_iterator(Backing(cell))) {
      struct stat found = {};
      EXPECT_EQ(lstat(entry.path().c_str(), &found), 0);
      std::ostringstream text;
      const std::string name = entry.path().filename();
      text << (name.starts_with(".nfs") ? ".nfs" : name) << "=" << OwnerName(found.st_uid) << ":"
           << std::oct << (found.st_mode & 07777);
      if (S_ISREG(found.st_mode)) text << ":" << std::dec << found.st_size;
      entries.push_back(text.str());
    }
    std::ranges::sort(entries);
    std::string all;
    for (const std::string& entry : entries) all += (all.empty() ? "" : " ") + entry;
    return all;
  }

  bool HasSessions() const {
    return version() == 4 && std::getenv("NFSWALK_MINOR_VERSION") != nullptr;
  }

  struct Moment {
    const char* name;
    bool is_executed;     // at first: else the call is lost, not its reply
    Action before = {};   // before the call is sent
    Action on_call = {};  // before the first execution
    Action behind = {};   // before the repetition
  };
  void Expect(const Moment& moment, const Outcome& expected) {
    SCOPED_TRACE(moment.name);
    const std::string cell = moment.name;
    Prepare(cell);
    const auto act = [this, cell](const Action& action) {
      const std::errc error = action ? action(Theirs(cell)) : kOk;
      EXPECT_EQ(error, kOk) << "the other client: " << std::make_error_code(error).message();
    };
    std::unique_ptr<File> open;
    if (row_.is_open) {
      auto opened = ours_->Open(Path(cell + "/" + kName), kMayRead, kOurs);
      ASSERT_TRUE(opened.has_value());
      open = std::move(*opened);
    }
    act(moment.before);
    const uint64_t cuts = proxy_->cuts();
    on_cut_ = [&] { act(moment.behind); };
    proxy_->Lose({.text = kName,
                  .is_executed = moment.is_executed,
                  .on_call = [&] { act(moment.on_call); }});
    const std::errc error = row_.call(Ours(cell));
    EXPECT_EQ(error, expected.error) << std::make_error_code(error).message();
    EXPECT_EQ(Left(cell), expected.left);
    // In a session, the reply to a call that was executed before theirs tells how it was then.
    if (!HasSessions() || moment.behind == nullptr) ExpectNames(cell);
    EXPECT_EQ(proxy_->cuts(), cuts + 1) << "the call was lost";
    EXPECT_EQ(proxy_->undrained(), 0u);
  }

  Row row_;
  std::unique_ptr<Client> ours_, theirs_;

 private:
  std::optional<fixtures::CuttingProxy> proxy_;
  std::function<void()> on_cut_ = [] {};
};

std::string CellName(const testing::TestParamInfo<LostReplies::ParamType>& test) {
  return fixtures::VersionName(std::get<0>(test.param)) + Rows()[std::get<1>(test.param)].name;
}
INSTANTIATE_TEST_SUITE_P(Calls, LostReplies,
                         testing::Combine(fixtures::AllVersions(),
                                          testing::Range(size_t{0}, Rows().size()),
                                          testing::Values(true)),
                         CellName);
// The others do not ask what the caches know.
INSTANTIATE_TEST_SUITE_P(WithNoac, LostReplies,
                         testing::Combine(fixtures::AllVersions(),
                                          testing::Range(Creations().size(), Rows().size()),
                                          testing::Values(false)),
                         CellName);

TEST_P(LostReplies, TheOutcomeIsNotGuessed) {
  if (HasSessions()) GTEST_SKIP() << "the server tells the outcome";
  Expect({.name = "alone", .is_executed = true}, row_.alone);
  // Executed once, by the repetition.
  Expect({.name = "alone-not-executed", .is_executed = false}, {kOk, row_.alone.left});
  // The server sees the same in these two.
  Expect({.name = "theirs-before", .is_executed = true, .before = row_.first}, row_.after_theirs);
  Expect({.name = "theirs-on-the-way", .is_executed = true, .on_call = row_.first},
         row_.after_theirs);
  Expect({.name = "theirs-not-executed", .is_executed = false, .behind = row_.first},
         row_.instead_of_ours.value_or(row_.after_theirs));
  Expect({.name = "theirs-behind", .is_executed = true, .behind = row_.behind}, row_.before_theirs);
}

// WIRE-38: of_minor_version.sh runs these.
TEST_P(LostReplies, TheOutcomeIsThatOfTheOneExecution) {
  if (!HasSessions()) GTEST_SKIP() << "there are no sessions";
  const Outcome& in_order = row_.in_order ? *row_.in_order : row_.after_theirs;
  Expect({.name = "alone", .is_executed = true}, {kOk, row_.alone.left});
  Expect({.name = "alone-not-executed", .is_executed = false}, {kOk, row_.alone.left});
  Expect({.name = "theirs-before", .is_executed = true, .before = row_.first}, in_order);
  Expect({.name = "theirs-on-the-way", .is_executed = true, .on_call = row_.first}, in_order);
  Expect({.name = "theirs-not-executed", .is_executed = false, .behind = row_.first}, in_order);
  Expect({.name = "theirs-behind", .is_executed = true, .behind = row_.behind},
         {kOk, row_.before_theirs.left});
}

}  // namespace
}  // namespace nfswalk
