// Every call that resolves a path, with every flag alone, by every kind of path, cold and warm.
#include "nfsclient/client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "nfsclient/superblock/cache_limits.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

constexpr std::errc kNoEntry = std::errc::no_such_file_or_directory;
constexpr std::errc kNotDirectory = std::errc::not_a_directory;
constexpr std::errc kLoop = std::errc::too_many_symbolic_link_levels;
constexpr std::errc kEscapes = std::errc::cross_device_link;
constexpr std::errc kAgain = std::errc::resource_unavailable_try_again;

// Describes what a path leads to: a file of some type, or an error.
struct Target {
  FileType type = FileType::kRegular;
  std::errc error{};
};
constexpr Target kFile{FileType::kRegular};
constexpr Target kDir{FileType::kDirectory};
constexpr Target kLink{FileType::kSymlink};
constexpr Target Error(std::errc error) { return {.error = error}; }

struct Path {
  std::string_view text;
  Target target;
  Target no_follow = target;
  Target no_symlinks = target;
  Target beneath = target;
};
// In the tree of Calls::AddTree(). Of two errors the one counts that a walk meets first.
const std::vector<Path> kPaths = {
    {"", Error(kNoEntry)},
    {"/", kDir, kDir, kDir, Error(kEscapes)},
    {".", kDir},
    {"..", kDir, kDir, kDir, Error(kEscapes)},
    {"d/..", kDir},
    {"d", kDir},
    {"d/", kDir},
    {"d/f", kFile},
    {"/d/f", kFile, kFile, kFile, Error(kEscapes)},
    {"d/f/", Error(kNotDirectory)},
    {"d/f/x", Error(kNotDirectory)},
    {"missing", Error(kNoEntry)},
    {"d/missing", Error(kNoEntry)},
    {"missing/x", Error(kNoEntry)},
    {"d/link", kFile, kLink, Error(kLoop), kFile},
    {"d/to_d", kDir, kLink, Error(kLoop), kDir},
    {"d/to_d/", kDir, kDir, Error(kLoop), kDir},
    {"d/to_d/f", kFile, kFile, Error(kLoop), kFile},
    {"d/dangling", Error(kNoEntry), kLink, Error(kLoop), Error(kNoEntry)},
    {"d/loop", Error(kLoop), kLink, Error(kLoop), Error(kLoop)},
    {"d/absolute", kFile, kLink, Error(kLoop), Error(kEscapes)},
    {"d/out", kFile, kLink, Error(kLoop), Error(kEscapes)},
};

// A call and its errno at what a path leads to.
struct CallRow {
  std::string_view name;
  std::errc (*call)(Client& client, std::string_view path, const Credential& who,
                    ResolveFlags flags);
  std::errc (*outcome)(Target target);
  bool can_be_cached = true;
  bool follows_last = true;
};
constexpr std::errc Found(Target) { return kOk; }

const std::vector<CallRow> kCalls = {
    {"Stat",
     [](Client& client, std::string_view path, const Credential& who, ResolveFlags flags) {
       const auto attributes = client.Stat(path, who, flags);
       return attributes ? kOk : attributes.error();
     },
     Found},
    {"Access",
     [](Client& client, std::string_view path, const Credential& who, ResolveFlags flags) {
       return client.Access(path, kMayRead, who, flags);
     },
     Found},
    {"ReadLink",
     [](Client& client, std::string_view path, const Credential& who, ResolveFlags flags) {
       std::array<char, 16> text;
       const auto size = client.ReadLink(path, text, who, flags);
       return size ? kOk : size.error();
     },
     [](Target target) {
       return target.type == FileType::kSymlink ? kOk : std::errc::invalid_argument;
     },
     true, /*follows_last=*/false},
    {"ReadDir",
     [](Client& client, std::string_view path, const Credential& who, ResolveFlags flags) {
       return client.ReadDir(path, who, [](const DirectoryEntry&) { return true; }, flags);
     },
     [](Target target) { return target.type == FileType::kDirectory ? kOk : kNotDirectory; },
     /*can_be_cached=*/false},
    {"Open",
     [](Client& client, std::string_view path, const Credential& who, ResolveFlags flags) {
       const auto file = client.Open(path, kMayRead, who, flags);
       return file ? kOk : file.error();
     },
     [](Target target) {
       return target.type == FileType::kDirectory ? std::errc::is_a_directory
              : target.type == FileType::kSymlink ? kLoop
                                                  : kOk;
     },
     /*can_be_cached=*/false},
    {"Resolve",
     [](Client& client, std::string_view path, const Credential& who, ResolveFlags flags) {
       const auto node = client.Resolve(path, who, flags);
       return node ? kOk : node.error();
     },
     Found},
};

struct Flag {
  std::string_view name;
  ResolveFlags flags;
  Target Path::* target;
};
// `cached` has tests of its own below.
const std::vector<Flag> kFlags = {
    {"none", {}, &Path::target},
    {"no_follow", {.no_follow = true}, &Path::no_follow},
    {"no_symlinks", {.no_symlinks = true}, &Path::no_symlinks},
    {"beneath", {.beneath = true}, &Path::beneath},
    {"in_root", {.in_root = true}, &Path::target},
    {"strict", {.strict = true}, &Path::target},
    {"dont_cache", {.dont_cache = true}, &Path::target},
};

class Calls : public MemoryMount {
 protected:
  void MountTree() {
    NewServer();
    server_->Add(kRoot, "x", FileType::kRegular);
    const uint64_t d = server_->Add(kRoot, "d", FileType::kDirectory);
    server_->Add(d, "f", FileType::kRegular);
    server_->Add(d, "link", FileType::kSymlink, "f");
    server_->Add(d, "to_d", FileType::kSymlink, "../d");
    server_->Add(d, "dangling", FileType::kSymlink, "none");
    server_->Add(d, "loop", FileType::kSymlink, "loop");
    server_->Add(d, "absolute", FileType::kSymlink, "/x");
    server_->Add(d, "out", FileType::kSymlink, "../../x");
    server_->Add(d, "to_dangling", FileType::kSymlink, "./dangling");
    server_->Add(d, "to_root", FileType::kSymlink, "../new");
    server_->Add(d, "to_slash", FileType::kSymlink, "new/");
    server_->Add(d, "to_nowhere", FileType::kSymlink, "missing/new");
    server_->Add(d, "to_closed", FileType::kSymlink, "/closed/new");
    server_->Grant(server_->Add(kRoot, "closed", FileType::kDirectory), 0);
    Mount();
  }

  static std::errc Expected(const CallRow& call, const Path& path, Target Path::* target) {
    // readlink(2) follows no link in last place; with no_symlinks it does not have to.
    const bool is_link = path.no_follow.type == FileType::kSymlink && path.no_follow.error == kOk;
    const Target found = !call.follows_last && is_link ? path.no_follow : path.*target;
    return found.error != kOk ? found.error : call.outcome(found);
  }

  std::errc Make(const CallRow& call, std::string_view path, ResolveFlags flags) const {
    return call.call(*client_, path, me_, flags);
  }

  void ExpectAllWith(const Flag& flag) {
    for (const CallRow& call : kCalls) {
      MountTree();
      for (const Path& path : kPaths) {
        client_->DropCaches();
        for (const char* state : {"cold", "warm", "warm again"}) {
          EXPECT_EQ(Make(call, path.text, flag.flags), Expected(call, path, flag.target))
              << call.name << " of \"" << path.text << "\" with " << flag.name << ", " << state;
        }
      }
    }
  }
};

TEST_F(Calls, EveryFlagAloneByEveryPath) {
  for (const Flag& flag : kFlags) ExpectAllWith(flag);
}

TEST_F(Calls, StrictMount) {
  options_.contract = WalkContract::kStrict;
  ExpectAllWith({"a strict mount", {}, &Path::target});
}

// A LOOKUP that was answered within the call counts, whatever the mount caches (WALK-16).
TEST_F(Calls, StrictWhereNamesAreNotTrusted) {
  for (const LookupCache lookupcache : {LookupCache::kPositive, LookupCache::kNone}) {
    options_.lookupcache = lookupcache;
    ExpectAllWith({"strict", {.strict = true}, &Path::target});
  }
}

TEST_F(Calls, CachedColdNeedsTheServerAndWarmDoesNot) {
  for (const CallRow& call : kCalls) {
    MountTree();
    for (const Path& path : kPaths) {
      client_->DropCaches();
      const std::errc expected = Expected(call, path, &Path::target);
      const std::errc cold = Make(call, path.text, {.cached = true});
      // The root stays cached.
      EXPECT_TRUE(cold == expected || cold == kAgain) << call.name << " of " << path.text;
      for (int i = 0; i < kCold; ++i) (void)Make(call, path.text, {});
      const uint64_t sent = Rpcs([&] {
        EXPECT_EQ(Make(call, path.text, {.cached = true}), call.can_be_cached ? expected : kAgain)
            << call.name << " of " << path.text;
      });
      EXPECT_EQ(sent, 0u) << call.name << " of " << path.text;
    }
  }
}

// An export may be a single file.
TEST_F(Calls, ExportOfASingleFile) {
  for (const bool sends_open : {false, true}) {
    NewServer();
    server_->Edit(kRoot, [](Attributes& root) { root.type = FileType::kRegular; });
    if (sends_open) server_->OpenByName();
    Mount();
    for (const CallRow& call : kCalls) {
      for (const std::string_view path : {"/", "//", ".", "..", "x", "x/y", "./x"}) {
        const bool is_root = path.find_first_not_of('/') == path.npos;
        const std::errc expected = !is_root ? kNotDirectory
                                   : sends_open && call.name == "Open"
                                       ? std::errc::operation_not_supported
                                       : call.outcome(kFile);
        for (const char* state : {"cold", "warm", "warm again"}) {
          EXPECT_EQ(Make(call, path, {}), expected)
              << call.name << " of \"" << path << "\", " << state;
        }
      }
    }
  }
}

// open(2) with O_CREAT, without O_EXCL unless `exclusive`.
TEST_F(Calls, CreateByEveryPath) {
  struct Row {
    std::string_view path;
    std::errc error;
    std::errc exclusive;
    std::string_view made = "";  // where the file is then
  };
  const std::errc exists = std::errc::file_exists, is_directory = std::errc::is_a_directory;
  const std::vector<Row> rows = {
      {"", kNoEntry, kNoEntry},
      {"/", is_directory, exists},
      {".", is_directory, exists},
      {"d", is_directory, exists},
      {"d/..", is_directory, exists},
      {"d/f", kOk, exists},
      {"d/f/", is_directory, is_directory},
      {"d/f/x", kNotDirectory, kNotDirectory},
      {"d/new", kOk, kOk, "d/new"},
      {"d/new/", is_directory, is_directory},
      {"missing/new", kNoEntry, kNoEntry},
      {"d/link", kOk, exists},
      {"d/to_d", is_directory, exists},
      {"d/loop", kLoop, exists},
      {"d/dangling", kOk, exists, "d/none"},
      {"d/dangling/", is_directory, is_directory},
      {"d/to_dangling", kOk, exists, "d/none"},
      {"d/to_root", kOk, exists, "new"},
      {"d/to_slash", is_directory, exists},
      {"d/to_nowhere", kNoEntry, exists},
      {"d/to_closed", std::errc::permission_denied, exists},
  };
  for (const Row& row : rows) {
    for (const bool exclusive : {false, true}) {
      for (const bool warm : {false, true}) {
        SCOPED_TRACE(std::string(row.path) + (exclusive ? ", exclusive" : "") +
                     (warm ? ", warm" : ", cold"));
        MountTree();
        if (warm) Warm(row.path);
        const auto created = client_->Create(row.path, 0644, exclusive, me_);
        EXPECT_EQ(created ? kOk : created.error(), exclusive ? row.exclusive : row.error);
        if (!created || row.made.empty()) continue;
        EXPECT_EQ(Stat(row.made, {.no_follow = true}), created->attributes.fileid);
        EXPECT_EQ(created->attributes.type, FileType::kRegular);
      }
    }
  }
}

// Another client creates the file after the walk has found its name missing.
// The path to the last component; that itself is never followed.
TEST_F(Calls, RemovalsResolveTheirDirectoryWithEveryFlag) {
  const struct {
    std::string_view path;
    ResolveFlags flags;
    std::errc error;
  } removals[] = {
      {"d/to_d/made", {.no_symlinks = true}, kLoop},
      {"d/to_d/made", {.no_follow = true}, kOk},
      {"d/to_d/../made", {.beneath = true}, kOk},
      {"d/../../made", {.beneath = true}, kEscapes},
      {"/made", {.beneath = true}, kEscapes},
      {"made", {.cached = true}, kAgain},
  };
  for (const auto& [path, flags, error] : removals) {
    MountTree();
    for (const std::string made : {"made", "d/made"}) {
      ASSERT_TRUE(client_->MakeDirectory(made, 0755, me_));
      ASSERT_TRUE(client_->MakeSymlink("f", made + "_link", me_));
    }
    EXPECT_EQ(client_->RemoveDirectory(path, me_, flags), error) << path;
    EXPECT_EQ(client_->Unlink(std::string(path) + "_link", me_, flags), error) << path;
  }
}

TEST_F(Calls, CreateOfAFileThatAnotherClientCreatesMeanwhile) {
  MountTree();
  uint64_t theirs = 0;
  WhileReplyIsInFlight(
      "LOOKUP", [&] { theirs = server_->Add(kRoot, "new", FileType::kRegular); }, "new");
  const auto created = client_->Create("new", 0644, /*exclusive=*/false, me_);
  EXPECT_TRUE(reply_came_);
  ASSERT_TRUE(created);
  EXPECT_EQ(created->attributes.fileid, theirs);
}

// The reply to the CREATE says nothing of what it made, and the LOOKUP for it fails: no error may
// mean that nothing was made, nor make the call be repeated.
TEST_F(Calls, CreateWhoseResultCannotBeLookedUpHasAnUnknownOutcome) {
  for (const auto& [lookup, outcome] :
       {std::pair(std::errc::permission_denied, std::errc::io_error),
        {protocol::kStale, std::errc::io_error},
        {std::errc::not_enough_memory, std::errc::io_error},
        {std::errc::timed_out, std::errc::timed_out}}) {
    MountTree();
    protocol_->LeaveOutAttributes("CREATE");
    protocol_->FailOnce("LOOKUP", lookup);
    const auto created = client_->Create("new", 0644, /*exclusive=*/true, me_);
    EXPECT_EQ(created ? kOk : created.error(), outcome);
    EXPECT_EQ(protocol_->Calls("CREATE"), 1u);
  }
}

// As pread(2) and pwrite(2) of a file whose size is an off_t: no piece begins at an offset that has
// wrapped, and nothing is sent.
TEST_F(Calls, TransfersThatEndBehindTheLargestOffsetAreRefused) {
  MountTree();
  const auto reader = client_->Open("x", kMayRead, me_),
             writer = client_->Open("x", kMayWrite, me_);
  ASSERT_TRUE(reader && writer);
  constexpr uint64_t kMax = INT64_MAX;
  std::vector<std::byte> data(2 * 65536);
  for (const auto& [offset, size, error] :
       {std::tuple(kMax - 10, size_t{10}, kOk),
        {kMax - 10, size_t{11}, std::errc::invalid_argument},
        {kMax, size_t{0}, kOk},
        {kMax, size_t{1}, std::errc::invalid_argument},
        {kMax + 1, size_t{0}, std::errc::invalid_argument},
        {UINT64_MAX - 65535, data.size(), std::errc::invalid_argument},
        {UINT64_MAX, size_t{1}, std::errc::invalid_argument}}) {
    SCOPED_TRACE(std::to_string(offset) + " + " + std::to_string(size));
    const uint64_t sent = client_->stats().rpcs;
    const auto written = (*writer)->PWrite(std::span(data).first(size), offset);
    EXPECT_EQ((*writer)->Sync(), kOk);
    const auto read = (*reader)->PRead(std::span(data).first(size), offset);
    EXPECT_EQ(written ? kOk : written.error(), error);
    EXPECT_EQ(read ? kOk : read.error(), error);
    EXPECT_EQ(client_->stats().rpcs - sent, error == kOk && size > 0 ? 2u : 0u);
  }
  // The offset comes before the access mode, the end after it.
  EXPECT_EQ((*reader)->PWrite(data, kMax + 1).error(), std::errc::invalid_argument);
  EXPECT_EQ((*reader)->PWrite(data, kMax).error(), std::errc::bad_file_descriptor);
  for (const uint64_t size : {kMax, kMax + 1, UINT64_MAX}) {
    const uint64_t sent = client_->stats().rpcs;
    const auto changed = client_->SetAttributesOf("x", {.mode = {}, .size_bytes = size}, me_);
    EXPECT_EQ(changed ? kOk : changed.error(), size == kMax ? kOk : std::errc::invalid_argument);
    EXPECT_EQ(client_->stats().rpcs > sent, size == kMax);
  }
}

// Each limit holds by itself, whatever the others are.
TEST_F(Calls, LimitsHoldAlone) {
  constexpr size_t kLimit = 50, kFiles = 300;
  // Objects that are allocated before others are given up, and the directories in use.
  constexpr size_t kSlack = 4;
  struct Row {
    std::string_view name;
    std::optional<size_t> MountOptions::* limit;
    uint64_t Stats::* held;
  };
  for (const auto& [name, limit, held] :
       {Row{"dentries", &MountOptions::dentries_max, &Stats::dentries},
        Row{"inodes", &MountOptions::inodes_max, &Stats::inodes}}) {
    const auto unlimited = std::exchange(options_.*limit, kLimit);
    NewServer();
    const uint64_t d = server_->Add(kRoot, "d", FileType::kDirectory);
    for (size_t file = 0; file < kFiles; ++file) {
      server_->Add(d, "f" + std::to_string(file), FileType::kRegular);
    }
    Mount();
    uint64_t most = 0;
    for (size_t file = 0; file < kFiles; ++file) {
      EXPECT_TRUE(IsFile(Stat("d/f" + std::to_string(file))));
      most = std::max(most, client_->stats().*held);
    }
    EXPECT_LE(most, kLimit + kSlack) << name;
    EXPECT_GE(most, kLimit) << name;
    options_.*limit = unlimited;
  }
}

// INODE-25.
TEST_F(Calls, LimitsThatAreNotGivenComeFromTheMemory) {
  options_.inodes_max = 50;
  NewServer();
  Mount();
  const nfs::CacheLimits limits = nfs::LimitsOf({});
  const Stats stats = client_->stats();
  EXPECT_EQ(stats.inodes_max, 50u);
  EXPECT_EQ(stats.dentries_max, limits.dentries);
  EXPECT_EQ(stats.access_entries_max, limits.access_entries);
  EXPECT_EQ(stats.limits_from, limits.source);
}

}  // namespace
}  // namespace nfswalk
