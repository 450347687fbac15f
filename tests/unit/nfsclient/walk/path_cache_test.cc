// When a walk begins at a cached prefix (walk/path_cache.h): whatever would change the walk's
// result, or make it leave RCU-walk, invalidates the prefix.
#include "nfsclient/walk/path_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nfsclient/icache/inode_cache.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "rcu/defer.h"
#include "rcu/keyed_change_count.h"
#include "tests/exits/steered_clock.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk::exits {
namespace {

class PathCache : public MemoryMount {
 protected:
  static constexpr std::string_view kFile = "a/b/c/file";

  PathCache() {
    SteeredClock::Set(1'000'000 * kSecond);
    MountTree();
  }

  void MountTree() {
    MountAnew();
    a_ = server_->Add(kRoot, "a", FileType::kDirectory);
    b_ = server_->Add(a_, "b", FileType::kDirectory);
    c_ = server_->Add(b_, "c", FileType::kDirectory);
    file_ = server_->Add(c_, "file", FileType::kRegular);
  }

  uint64_t path_hits() const { return client_->stats().path_hits; }
  // Stats, and returns whether the prefix was cached.
  bool Hits(std::string_view path, uint64_t expected, ResolveFlags flags = {}) const {
    const uint64_t before = path_hits();
    EXPECT_EQ(Stat(path, flags), expected) << path;
    return path_hits() != before;
  }
  bool HitsAs(const Credential& who) const {
    const uint64_t before = path_hits();
    EXPECT_TRUE(client_->Stat(kFile, who).has_value());
    return path_hits() != before;
  }
  void RecordPrefix(std::string_view path, uint64_t expected) const {
    Warm(path);
    Warm(path);
    EXPECT_TRUE(Hits(path, expected)) << path;
  }
  // Records the prefix, runs `change`, and expects that the prefix is not used.
  void ExpectUnusedAfter(const std::function<void()>& change, uint64_t expected) const {
    RecordPrefix(kFile, file_);
    change();
    EXPECT_FALSE(Hits(kFile, expected));
  }
  // Makes the client notice changes of a directory by others.
  void RevalidateInode(uint64_t directory) const {
    nfs::Superblock& superblock = ClientInternals::SuperblockOf(*client_);
    superblock.inodes->IterInodes({}, [&](icache::Inode& inode) {
      if (inode.fileid == directory) {
        EXPECT_EQ(nfs::RevalidateInode(superblock, inode, another_, true), std::errc{});
      }
      return icache::IterStep::kNext;
    });
  }

  // More than the cache's initial capacity. Cached by another thread, so that this one has no
  // prefixes of them.
  static constexpr int kManyDirectories = 2000;
  static std::string ManyPath(int i) { return "a/" + std::to_string(i) + "/file"; }
  void AddManyDirectories() const {
    for (int i = 0; i < kManyDirectories; ++i) {
      server_->Add(server_->Add(a_, std::to_string(i), FileType::kDirectory), "file",
                   FileType::kRegular);
    }
    std::thread([&] {
      for (int i = 0; i < kManyDirectories; ++i) Warm(ManyPath(i));
    }).join();
  }

  // Stats as all users that share an entry; returns the number of prefix hits.
  uint64_t FourUsersStat() const {
    uint64_t hits = 0;
    for (uint32_t uid = 101; uid <= 104; ++uid) hits += HitsAs(Credential(uid, uid));
    return hits;
  }

  // Two directories in `a` whose prefixes fall in one set of a new cache, with equal tags: of so
  // many, two do.
  std::pair<std::string, std::string> NamesWithEqualTags() const {
    constexpr size_t kNames = 400'000;
    constexpr uint64_t kBitsInSet = ~uint64_t{0} << 41, kSetBits = 0x7f00;
    nfs::Superblock& superblock = ClientInternals::SuperblockOf(*client_);
    std::unordered_map<uint64_t, size_t> seen;
    for (size_t i = 0; i < kNames; ++i) {
      const std::string padded = "a/" + std::to_string(i) + std::string(vfs::kNamePadding, '\0');
      const std::string_view text = std::string_view(padded).substr(0, padded.find('\0'));
      const auto key = walk::PathCache::PrefixKeyOf(text, superblock, nullptr);
      const auto [found, is_new] = seen.emplace(key.hash & (kBitsInSet | kSetBits), i);
      if (!is_new) return {std::to_string(found->second), std::to_string(i)};
    }
    return {};
  }

  uint64_t a_ = 0, b_ = 0, c_ = 0;
  uint64_t file_ = 0;
};

// WALK-17.
TEST_F(PathCache, TheThirdWalkToADirectoryBeginsThere) {
  EXPECT_FALSE(Hits(kFile, file_));
  Warm(kFile);
  Warm(kFile);
  EXPECT_TRUE(Hits(kFile, file_));
  EXPECT_TRUE(Hits("a/b/c/none", kMissing) || Hits("a/b/c/none", kMissing));
  EXPECT_FALSE(Hits("a/b", b_));
}

TEST_F(PathCache, APrefixThatEndsInSlashesIsTheSame) {
  RecordPrefix("a/b/c//file", file_);
  RecordPrefix("a/b/c/", c_);
  RecordPrefix("/a/b/c/.", c_);
  EXPECT_TRUE(Hits("a/b/c/..", b_));
}

TEST_F(PathCache, OwnRenamesOfAnyDirectoryOfThePrefixAreSeen) {
  for (const std::string directory : {"a", "a/b", "a/b/c"}) {
    MountTree();
    ExpectUnusedAfter([&] { Rename(directory, "elsewhere"); }, kMissing);
  }
}

// WALK-17. Few of so many directories share a shard of the change count with one of the prefix.
TEST_F(PathCache, ChangesOfDirectoriesElsewhereLeaveAPrefixValid) {
  constexpr int kTurns = 32, kUnrelated = 24;
  int renamed = 0, searched = 0, evicted = 0;
  for (int i = 0; i < kTurns; ++i) {
    const std::string directory = "elsewhere" + std::to_string(i), other = directory + "-renamed";
    Make(FileType::kDirectory, directory);
    RecordPrefix(kFile, file_);
    Rename(directory, other);
    renamed += Hits(kFile, file_);
    RecordPrefix(kFile, file_);
    (void)StatAs(Credential(7, 7), other + "/none");
    searched += Hits(kFile, file_);
    RecordPrefix(kFile, file_);
    Remove(FileType::kDirectory, other);
    evicted += Hits(kFile, file_);
  }
  EXPECT_GT(renamed, kUnrelated);
  EXPECT_GT(searched, kUnrelated);
  EXPECT_GT(evicted, kUnrelated);
  ExpectUnusedAfter([&] { Rename("a", "moved"); }, kMissing);
}

TEST_F(PathCache, APrefixOfVeryManyDirectoriesIsInvalidAfterAnyChange) {
  std::string path;
  uint64_t directory = kRoot;
  for (size_t i = 0; i < nfswalk::rcu::KeyedChangeCount::Keys::kMax; ++i) {
    path += "d/";
    directory = server_->Add(directory, "d", FileType::kDirectory);
  }
  path += "file";
  const uint64_t file = server_->Add(directory, "file", FileType::kRegular);
  RecordPrefix(path, file);
  Rename("a/b", "a/elsewhere");
  EXPECT_FALSE(Hits(path, file));
  RecordPrefix(path, file);
  Rename("d", "elsewhere");
  EXPECT_FALSE(Hits(path, kMissing));
}

TEST_F(PathCache, AReplacedDirectoryOfThePrefixIsSeen) {
  const uint64_t other = server_->Add(kRoot, "other", FileType::kDirectory);
  const uint64_t other_c = server_->Add(other, "c", FileType::kDirectory);
  const auto other_file = server_->Add(other_c, "file", FileType::kRegular);
  ExpectUnusedAfter(
      [&] {
        Rename("a/b", "away");
        Rename("other", "a/b");
      },
      other_file);
}

TEST_F(PathCache, ForeignChangesAreSeenOnceTheDirectoryIsRevalidated) {
  ExpectUnusedAfter(
      [&] {
        server_->Move(a_, kRoot, "b");
        RevalidateInode(a_);
      },
      kMissing);
}

TEST_F(PathCache, RevokedRightsAreSeenOnceTheDirectoryIsRevalidated) {
  for (const int level : {0, 1, 2}) {
    MountTree();
    ExpectUnusedAfter(
        [&] {
          const uint64_t directory = level == 0 ? a_ : level == 1 ? b_ : c_;
          server_->Grant(directory, 0, me_.uid());
          server_->Edit(directory, [](auto& attributes) { attributes.mode = 0700; });
          RevalidateInode(directory);
        },
        kDenied);
  }
}

TEST_F(PathCache, OwnChangesOfModesAreSeen) {
  ExpectUnusedAfter(
      [&] {
        server_->Grant(a_, 0, me_.uid());
        EXPECT_TRUE(client_->SetAttributesOf("a", {.mode = 0700}, another_).has_value());
      },
      kDenied);
}

TEST_F(PathCache, InvalidatedOrDroppedCachesAreNotUsed) {
  ExpectUnusedAfter([&] { client_->InvalidateCaches(); }, file_);
  ExpectUnusedAfter([&] { client_->DropCaches(); }, file_);
}

// The dentry of the entry may be another directory's by now, or unmapped: it must not be read.
TEST_F(PathCache, ThePrefixOfAnEvictedDirectoryIsNotUsed) {
  ExpectUnusedAfter(
      [&] {
        nfs::Superblock& superblock = ClientInternals::SuperblockOf(*client_);
        const auto sample = superblock.directory_changes.TrySample();
        ASSERT_TRUE(sample);
        while (superblock.dentries.size() > 1) superblock.dentries.Prune(64);
        EXPECT_FALSE(superblock.directory_changes.Validate(*sample));
      },
      file_);
}

// The last directory's attributes are fresh for longer than those above it.
TEST_F(PathCache, APrefixIsTrustedForAsLongAsEveryDirectoryOnIt) {
  constexpr uint64_t kLifetime = 600 * kSecond;
  const uint64_t asked_at = SteeredClock::Now();
  Warm("a/b/none");
  SteeredClock::Pass(100 * kSecond);
  Warm(kFile);
  RevalidateInode(c_);
  RecordPrefix(kFile, file_);
  SteeredClock::Set(asked_at + kLifetime - 1);
  EXPECT_TRUE(Hits(kFile, file_));
  SteeredClock::Set(asked_at + kLifetime);
  EXPECT_FALSE(Hits(kFile, file_));
}

// The clock goes back to before the attributes of `a` were fetched, not those of the last
// directory.
TEST_F(PathCache, APrefixIsNotTrustedBeforeEveryDirectoryOnIt) {
  const uint64_t asked_at = SteeredClock::Now();
  Warm(kFile);
  SteeredClock::Pass(100 * kSecond);
  RevalidateInode(a_);
  // Invalidates the recorded prefix, which the fetch alone does not.
  {
    nfs::Superblock& superblock = ClientInternals::SuperblockOf(*client_);
    nfs::DirectoryChange change(superblock, *superblock.root.inode());
  }
  RecordPrefix(kFile, file_);
  SteeredClock::Set(asked_at + 50 * kSecond);
  EXPECT_FALSE(Hits(kFile, file_));
}

// WALK-17.
TEST_F(PathCache, APrefixServesItsCredentialsOnly) {
  server_->Grant(b_, 0, another_.uid());
  const auto as_others = [&] {
    EXPECT_EQ(client_->Stat(kFile, another_).error(), std::errc::permission_denied);
    EXPECT_TRUE(client_->Stat(kFile, Credential(1, 1, {7})).has_value());
    EXPECT_TRUE(client_->Stat(kFile, Credential(1, 2)).has_value());
  };
  for (int i = 0; i < kCold; ++i) as_others();  // caches their rights
  RecordPrefix(kFile, file_);
  const uint64_t before = path_hits();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client_->Stat(kFile, another_).error(), std::errc::permission_denied);
  }
  EXPECT_EQ(path_hits(), before);
  EXPECT_TRUE(Hits(kFile, file_));
  for (int i = 0; i < 6; ++i) as_others();
  RecordPrefix(kFile, file_);
}

// An entry knows its users by address: it is invalid before the last rights that pin one are gone.
TEST_F(PathCache, AUserAtTheAddressOfAnEarlierOneIsNotServed) {
  const Credential earlier(100, 1);
  const std::array<std::function<void(nfs::Superblock&)>, 3> drops = {
      [](auto& superblock) { superblock.access_lru.Shrink(superblock.access_lru.entries()); },
      [](auto& superblock) { superblock.DropCaches(); },
      [&](auto&) {  // by the rights of another, after a change
        for (const uint64_t id : {kRoot, a_, b_, c_}) {
          server_->Edit(id, [](auto& attributes) { attributes.mode = 0700; });
          RevalidateInode(id);
        }
        for (int i = 0; i < kCold; ++i) HitsAs(me_);
      }};
  for (size_t how = 0; how < drops.size(); ++how) {
    MountTree();
    server_->GrantBy([this](const Attributes& file, const Credential& who) {
      return file.fileid == b_ && who.uid() >= 1000 ? 0 : protocol::kAccessAll;
    });
    if (how != 2) Warm(kFile);  // its rights are on lists
    for (int i = 0; i < 2 * kCold; ++i) HitsAs(earlier);
    EXPECT_TRUE(HitsAs(earlier));
    nfs::Superblock& superblock = ClientInternals::SuperblockOf(*client_);
    const void* const address = superblock.credentials.Lookup(earlier)->get();
    drops[how](superblock);
    nfswalk::rcu::Barrier();  // until then, entries pin it
    superblock.credentials.Prune(~uint64_t{0});
    nfswalk::rcu::Barrier();
    std::vector<sunrpc_auth::CredentialRef> later;
    do {
      const Credential who(1000 + static_cast<uint32_t>(later.size()), 1);
      later.push_back(*superblock.credentials.Lookup(who));
    } while (later.back().get() != address && later.size() < 1000);
    EXPECT_EQ(later.back().get(), address) << how << ": the address is in use";
    EXPECT_EQ(StatAs(later.back()->key(), kFile), kDenied) << how;
  }
}

// More users than share an entry.
TEST_F(PathCache, AnyNumberOfUsersUseAPrefixInTurn) {
  const auto nine_users_hit = [&] {
    uint64_t hits = 0;
    for (uint32_t uid = 1; uid <= 9; ++uid) hits += HitsAs(Credential(uid, uid));
    return hits;
  };
  for (int i = 0; i < 2 * kCold; ++i) nine_users_hit();
  EXPECT_EQ(nine_users_hit(), 9u);
  EXPECT_EQ(nine_users_hit(), 9u);
}

TEST_F(PathCache, AnEntryThatIsFullServesNoOtherCredential) {
  server_->Grant(b_, 0, another_.uid());
  const auto refused = [&] {
    const auto answer = client_->Stat(kFile, another_);
    return !answer && answer.error() == std::errc::permission_denied;
  };
  for (int i = 0; i < 2 * kCold; ++i) {
    FourUsersStat();
    EXPECT_TRUE(refused());
  }
  EXPECT_EQ(FourUsersStat(), 4u);
  const uint64_t before = path_hits();
  EXPECT_TRUE(refused());
  EXPECT_EQ(path_hits(), before);
}

// The rights of this user expire before those of the others in the entry.
TEST_F(PathCache, AnUnsharedEntryIsTrustedNoLongerThanASharedOne) {
  options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s = 7200;
  MountTree();
  constexpr uint64_t kLifetime = 7200 * kSecond;
  const uint64_t asked_at = SteeredClock::Now();
  Warm(kFile);
  SteeredClock::Pass(100 * kSecond);
  for (const uint64_t id : {kRoot, a_, b_, c_, file_}) RevalidateInode(id);
  std::thread([&] {
    for (int i = 0; i < 2 * kCold; ++i) FourUsersStat();
    EXPECT_EQ(FourUsersStat(), 4u);
    RecordPrefix(kFile, file_);
    SteeredClock::Set(asked_at + kLifetime - 1);
    EXPECT_TRUE(Hits(kFile, file_));
    SteeredClock::Set(asked_at + kLifetime);
    EXPECT_FALSE(Hits(kFile, file_));
  }).join();
}

TEST_F(PathCache, TheLongestPrefixesThatFitAreToldApart) {
  const std::string stem(230, 'd');
  std::vector<std::pair<std::string, uint64_t>> files;
  for (const std::string end : {"123456", "123457", "1234567"}) {  // "a/" and 236 or 237 bytes
    const uint64_t directory = server_->Add(a_, stem + end, FileType::kDirectory);
    files.emplace_back("a/" + stem + end + "/file",
                       server_->Add(directory, "file", FileType::kRegular));
  }
  for (int i = 0; i < 2 * kCold; ++i) {
    for (const auto& [path, file] : files) EXPECT_EQ(Stat(path), file);
  }
  EXPECT_TRUE(Hits(files[0].first, files[0].second));
  EXPECT_TRUE(Hits(files[1].first, files[1].second));
  EXPECT_FALSE(Hits(files[2].first, files[2].second)) << "one byte too long";
}

TEST_F(PathCache, ASharedEntryIsTrustedNoLongerThanAnUnsharedOne) {
  options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s = 7200;
  MountTree();
  constexpr uint64_t kLifetime = 7200 * kSecond;
  const uint64_t asked_at = SteeredClock::Now();
  for (int i = 0; i < kCold; ++i) HitsAs(another_);
  // Refreshes everything but the rights of `another_`.
  SteeredClock::Pass(100 * kSecond);
  for (const uint64_t id : {kRoot, a_, b_, c_, file_}) RevalidateInode(id);
  RecordPrefix(kFile, file_);
  for (int i = 0; i < kCold; ++i) HitsAs(another_);
  SteeredClock::Set(asked_at + kLifetime - 1);
  EXPECT_TRUE(HitsAs(another_));
  SteeredClock::Set(asked_at + kLifetime);
  EXPECT_FALSE(HitsAs(another_));
}

// ACCESS-6.
TEST_F(PathCache, RightsOutliveAttributesThatAreAskedForAgain) {
  options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s = 60;
  MountTree();
  Warm(kFile);
  SteeredClock::Pass(100 * kSecond);
  for (const uint64_t id : {kRoot, a_, b_, c_, file_}) RevalidateInode(id);
  EXPECT_EQ(Rpcs([&] { RecordPrefix(kFile, file_); }), 0u);
}

TEST_F(PathCache, PrefixesWithEqualTagsAreDistinguished) {
  const auto [one, other] = NamesWithEqualTags();
  ASSERT_FALSE(one.empty());
  const auto add = [&](const std::string& name) {
    const uint64_t directory = server_->Add(a_, name, FileType::kDirectory);
    return server_->Add(directory, "file", FileType::kRegular);
  };
  const uint64_t one_file = add(one), other_file = add(other);
  std::thread([&] {  // a thread with a new cache
    RecordPrefix("a/" + one + "/file", one_file);
    RecordPrefix("a/" + other + "/file", other_file);
    EXPECT_FALSE(Hits("a/" + one + "/file", one_file)) << "expected a conflict eviction";
  })
      .join();
}

TEST_F(PathCache, LinksAndParentsAreWalkedEachTime) {
  server_->Add(kRoot, "to-b", FileType::kSymlink, "a/b");
  for (const std::string path : {"to-b/c/file", "a/../a/b/c/file", "../a/b/c/file"}) {
    Warm(path);
    Warm(path);
    EXPECT_FALSE(Hits(path, file_)) << path;
  }
}

TEST_F(PathCache, StrictWalksUseNoPrefix) {
  RecordPrefix(kFile, file_);
  EXPECT_FALSE(Hits(kFile, file_, {.strict = true}));
}

TEST_F(PathCache, OtherModesAndAMountWithoutItWalkEachTime) {
  for (const auto& [mode, path_cache] : {std::pair{WalkMode::kRef, true},
                                         {WalkMode::kRcuLocked, true},
                                         {WalkMode::kRcuPeek, true},
                                         {WalkMode::kRcuSearch, false}}) {
    options_.walk = mode;
    options_.path_cache = path_cache;
    MountTree();
    Warm(kFile);
    Warm(kFile);
    EXPECT_FALSE(Hits(kFile, file_)) << WalkModeName(mode);
  }
}

TEST_F(PathCache, PrefixesOfManyDirectoriesAreRecorded) {
  AddManyDirectories();
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < kManyDirectories; ++i) {
      (void)Stat(ManyPath(i));
      (void)Stat(ManyPath(i));
    }
  }
  const uint64_t before = path_hits();
  for (int i = 0; i < kManyDirectories; ++i) (void)Stat(ManyPath(i));
  EXPECT_GT(path_hits() - before, kManyDirectories * 9 / 10);
}

// WALK-18.
TEST_F(PathCache, APrefixUsedOnceEvictsNothing) {
  AddManyDirectories();
  RecordPrefix(kFile, file_);
  for (int i = 0; i < kManyDirectories; ++i) (void)Stat(ManyPath(i));
  EXPECT_TRUE(Hits(kFile, file_));
}

// The second mount may reuse the memory of the first.
TEST_F(PathCache, AMountUsesNoPrefixOfAnEarlierOne) {
  for (int i = 0; i < 5; ++i) {
    MountTree();
    EXPECT_FALSE(Hits(kFile, file_));
    RecordPrefix(kFile, file_);
  }
}

TEST_F(PathCache, EachThreadHasPrefixesOfItsOwn) {
  RecordPrefix(kFile, file_);
  std::thread([&] {
    EXPECT_FALSE(Hits(kFile, file_));
    RecordPrefix(kFile, file_);
  }).join();
  EXPECT_TRUE(Hits(kFile, file_));
}

}  // namespace
}  // namespace nfswalk::exits
