// Memory shortage at every allocation of every call of Client: the call returns ENOMEM or does
// without, the same call succeeds once there is memory, and nothing leaks.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "nfsclient/client.h"
#include "nfsclient/icache/inode_policy.h"
#include "tests/faults/tree_check.h"
#include "tests/fixtures/allocation_shortage.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/faulty_protocol.h"
#include "tests/fixtures/memory_server.h"

namespace nfswalk {
namespace {

using fixtures::AllocationShortage;
using fixtures::Extent;
using fixtures::FaultyProtocol;
using fixtures::MemoryKind;
using fixtures::MemoryServer;
using fixtures::OtherMemory;
using protocol::FileType;

constexpr uint64_t kRoot = MemoryServer::kRoot;

// Too long to be inline in a dentry.
const std::string kLongName(200, 'n');
// Two link texts and a path with these exceed a walk's own buffer.
const std::string kSlashes(3000, '/');

// The outcome of a call: its error, or a number that the server's tree has too.
struct Answer {
  std::errc error{};
  uint64_t value = 0;

  bool operator==(const Answer&) const = default;
};
Answer Of(const Result<Attributes>& result) {
  return result ? Answer{{}, result->fileid} : Answer{result.error()};
}
Answer Of(std::errc error) { return {error}; }
std::errc ErrorOf(const auto& result) { return result ? std::errc{} : result.error(); }

// Paths of one attempt, built beforehand, so that the shortage meets the call alone.
struct Paths {
  std::string directory, file, long_name, link, missing, fresh, empty, moved, through_links;
  uint64_t file_id = 0, long_name_id = 0;
};

struct Operation {
  const char* name;
  bool warm;  // the file is cached
  std::function<Answer(Client&, const Paths&, const Credential&)> run;
  // The expected value; empty: success alone.
  std::function<uint64_t(const Paths&)> value = {};
};

// --- the calls ---

Answer StatFile(Client& client, const Paths& paths, const Credential& me) {
  return Of(client.Stat(paths.file, me));
}
Answer StatThroughLinks(Client& client, const Paths& paths, const Credential& me) {
  return Of(client.Stat(paths.through_links, me));
}
Answer StatMissing(Client& client, const Paths& paths, const Credential& me) {
  const auto result = client.Stat(paths.missing, me);
  if (!result && result.error() == std::errc::no_such_file_or_directory) return {};
  return result ? Answer{std::errc::file_exists} : Answer{result.error()};
}
Answer Access(Client& client, const Paths& paths, const Credential& me) {
  return Of(client.Access(paths.file, kMayRead, me));
}
Answer ReadLink(Client& client, const Paths& paths, const Credential& me) {
  std::array<char, 300> text;
  const auto size = client.ReadLink(paths.link, text, me);
  return size ? Answer{{}, *size} : Answer{size.error()};
}
Answer ReadDir(Client& client, const Paths& paths, const Credential& me) {
  Answer answer;
  answer.error = client.ReadDir(paths.directory, me, [&answer](const DirectoryEntry&) {
    ++answer.value;
    return true;
  });
  return answer.error == std::errc{} ? answer : Answer{answer.error};
}
Answer OpenAndRead(Client& client, const Paths& paths, const Credential& me) {
  auto file = client.Open(paths.file, kMayRead | kMayWrite, me);
  if (!file) return {file.error()};
  std::array<std::byte, 10> data{};
  if (const auto written = (*file)->PWrite(data, 0); !written) return {written.error()};
  const auto read = (*file)->PRead(data, 0);
  return read ? Answer{{}, *read} : Answer{read.error()};
}

const std::vector<Operation>& Operations() {
  using C = Client;
  using P = Paths;
  using Me = Credential;
  const auto file_id = [](const P& p) { return p.file_id; };
  const auto constant = [](uint64_t value) { return [value](const P&) { return value; }; };
  const auto create = [](bool exclusive) {
    return [exclusive](C& c, const P& p, const Me& me) {
      return Answer{ErrorOf(c.Create(p.fresh, 0644, exclusive, me))};
    };
  };
  const auto rename = [](C& c, const P& p, const Me& me) {
    return Of(c.Rename(p.file, p.fresh, me));
  };
  const auto unlink = [](C& c, const P& p, const Me& me) { return Of(c.Unlink(p.file, me)); };
  static const auto* const operations = new std::vector<Operation>{
      {"StatCold", false, StatFile, file_id},
      {"StatWarm", true, StatFile, file_id},
      {"StatLongName", false,
       [](C& c, const P& p, const Me& me) { return Of(c.Stat(p.long_name, me)); },
       [](const P& p) { return p.long_name_id; }},
      {"StatMissing", false, StatMissing},
      {"StatThroughLinks", false, StatThroughLinks, file_id},
      {"StatThroughLinksWarm", true, StatThroughLinks, file_id},
      {"Access", false, Access},
      {"ReadLink", false, ReadLink, constant(250)},
      {"ReadLinkWarm", true, ReadLink, constant(250)},
      {"ReadDir", false, ReadDir, constant(6)},
      {"OpenAndRead", false, OpenAndRead, constant(10)},
      {"Create", false, create(true)},
      {"CreateUnlessThere", false, create(false)},
      {"MakeDirectory", false,
       [](C& c, const P& p, const Me& me) {
         return Answer{ErrorOf(c.MakeDirectory(p.fresh, 0755, me))};
       }},
      {"MakeSymlink", false,
       [](C& c, const P& p, const Me& me) {
         return Answer{ErrorOf(c.MakeSymlink("to", p.fresh, me))};
       }},
      {"Link", false,
       [](C& c, const P& p, const Me& me) { return Of(c.Link(p.file, p.fresh, me)); }},
      {"Rename", false, rename},
      {"RenameWarm", true, rename},
      {"RenameDirectory", true,
       [](C& c, const P& p, const Me& me) { return Of(c.Rename(p.empty, p.moved, me)); }},
      {"Unlink", false, unlink},
      {"UnlinkWarm", true, unlink},
      {"RemoveDirectory", false,
       [](C& c, const P& p, const Me& me) { return Of(c.RemoveDirectory(p.empty, me)); }},
      {"SetMode", false,
       [](C& c, const P& p, const Me& me) {
         return Of(c.SetAttributesOf(p.file, {.mode = 0600}, me));
       },
       file_id},
  };
  return *operations;
}

// --- the fixture ---

struct Mounted {
  MemoryServer* server = nullptr;
  std::unique_ptr<Client> client;

  void Add(const std::string& name, Paths& paths) const;
  // Expects the client's results to be the server's, name by name.
  void ExpectServersTree(const std::string& name, const Credential& me) const;
};

std::unique_ptr<protocol::Protocol> NewServer(bool whole_paths, MemoryServer** server) {
  auto memory = std::make_unique<MemoryServer>();
  if (whole_paths) memory->AnswerWholePaths();
  *server = memory.get();
  auto front = std::make_unique<FaultyProtocol>(std::move(memory));
  front->Around([](const fixtures::Call&, const std::function<void()>& execute) {
    OtherMemory of_the_server;
    execute();
  });
  return front;
}

MountOptions Options() {
  MountOptions options;
  options.acregmin_s = options.acregmax_s = options.acdirmin_s = options.acdirmax_s = 600;
  // Small tables, which grow during the test.
  options.dentries_max = options.inodes_max = 64;
  return options;
}

Mounted Mount(bool whole_paths, const MountOptions& options = Options()) {
  Mounted mounted;
  mounted.client = std::move(*Client::MountOver(NewServer(whole_paths, &mounted.server), options));
  return mounted;
}

// Adds six names at the server, behind the client.
void Mounted::Add(const std::string& name, Paths& paths) const {
  const uint64_t top = server->Add(kRoot, name, FileType::kDirectory);
  const uint64_t directory = server->Add(top, "d", FileType::kDirectory);
  paths.directory = name + "/d";
  paths.file = paths.directory + "/file";
  paths.long_name = paths.directory + "/" + kLongName;
  paths.link = paths.directory + "/link";
  paths.empty = paths.directory + "/empty";
  paths.missing = paths.directory + "/missing";
  paths.fresh = paths.directory + "/" + std::string(100, 'f');
  paths.moved = paths.directory + "/" + std::string(100, 'm');
  paths.through_links = name + "/d/far" + kSlashes + "file";
  paths.file_id = server->Add(directory, "file", FileType::kRegular);
  paths.long_name_id = server->Add(directory, kLongName, FileType::kRegular);
  server->Add(directory, "link", FileType::kSymlink, std::string(250, 't'));
  server->Add(directory, "empty", FileType::kDirectory);
  server->Add(directory, "far", FileType::kSymlink, "further" + kSlashes + ".");
  server->Add(directory, "further", FileType::kSymlink, "." + kSlashes + ".");
}

void Mounted::ExpectServersTree(const std::string& name, const Credential& me) const {
  // Writes the data that a close had no memory to write.
  faults::WriteBackAll(*client);
  const auto top = server->Lookup(server->GetRoot(me).handle, name, me);
  ASSERT_EQ(top.error, std::errc{});
  const auto directory = server->Lookup(top.handle, "d", me);
  ASSERT_EQ(directory.error, std::errc{});
  const auto listed = server->ReadDir(directory.handle, {}, true, me);
  for (const auto& entry : listed.entries) {
    const auto known = client->Stat(name + "/d/" + entry.name, me, {.no_follow = true});
    ASSERT_TRUE(known.has_value()) << entry.name;
    EXPECT_EQ(*known, *entry.attributes) << entry.name;
  }
  size_t names = 0;
  EXPECT_EQ(client->ReadDir(name + "/d", me,
                            [&](const DirectoryEntry&) {
                              ++names;
                              return true;
                            }),
            std::errc{});
  EXPECT_EQ(names, listed.entries.size());
}

using Shortage = std::tuple<bool, MemoryKind, Extent>;

std::string ShortageName(const testing::TestParamInfo<Shortage>& test) {
  const auto [whole_paths, kind, extent] = test.param;
  std::string name = whole_paths ? "WholePaths" : "SingleNames";
  name += kind == MemoryKind::kHeap         ? "Heap"
          : kind == MemoryKind::kPoolObject ? "PoolObjects"
                                            : "PageAreas";
  return name + (extent == Extent::kOnce ? "Once" : "FromThenOn");
}

class AllocationTest : public testing::TestWithParam<Shortage> {
 protected:
  // Runs one call that is short of memory after `succeed` allocations, and the checks after it.
  // Returns false if the call made fewer allocations.
  bool Attempt(const Mounted& mounted, const Operation& operation, int64_t succeed);
  // Runs `call` on a warm mount with each kind of inode hash table.
  void ForEachHashPolicy(const std::function<void(Mounted& mounted, const Paths& paths)>& call);

  static bool whole_paths() { return std::get<0>(GetParam()); }
  static MemoryKind kind() { return std::get<1>(GetParam()); }
  static Extent extent() { return std::get<2>(GetParam()); }

  const Credential me_{1, 1, std::vector<uint32_t>(30, 7)};
  int failed_calls_ = 0;
  int shortages_ = 0;
};

bool AllocationTest::Attempt(const Mounted& mounted, const Operation& operation, int64_t succeed) {
  SCOPED_TRACE(std::string(operation.name) + " after " + std::to_string(succeed));
  Client& client = *mounted.client;
  Paths paths;
  const std::string name = std::string(operation.name) + std::to_string(succeed);
  mounted.Add(name, paths);
  client.DropCaches();
  if (operation.warm) {
    EXPECT_EQ(StatThroughLinks(client, paths, me_).value, paths.file_id);
    EXPECT_EQ(ReadLink(client, paths, me_).value, 250u);
    EXPECT_EQ(Of(client.Stat(paths.empty, me_)).error, std::errc{});
  }
  const uint64_t value = operation.value ? operation.value(paths) : 0;

  Answer answer;
  bool occurred;
  {
    AllocationShortage shortage(kind(), extent(), succeed);
    answer = operation.run(client, paths, me_);
    occurred = shortage.occurred();
  }
  if (answer.error != std::errc{}) {
    EXPECT_TRUE(occurred);
    EXPECT_EQ(answer.error, std::errc::not_enough_memory);
    ++failed_calls_;
    answer = operation.run(client, paths, me_);
  }
  EXPECT_EQ(answer, (Answer{{}, value}));
  mounted.ExpectServersTree(name, me_);
  shortages_ += occurred;
  return occurred;
}

void AllocationTest::ForEachHashPolicy(
    const std::function<void(Mounted& mounted, const Paths& paths)>& call) {
  for (const auto hash : {icache::HashPolicy::kBitRcu, icache::HashPolicy::kIndex}) {
    MountOptions options = Options();
    options.inode_policy.hash = hash;
    Mounted mounted = Mount(whole_paths(), options);
    Paths paths;
    mounted.Add("top", paths);
    EXPECT_EQ(StatThroughLinks(*mounted.client, paths, me_).value, paths.file_id);
    call(mounted, paths);
  }
}

INSTANTIATE_TEST_SUITE_P(Shortages, AllocationTest,
                         testing::Combine(testing::Bool(),
                                          testing::Values(MemoryKind::kHeap,
                                                          MemoryKind::kPoolObject,
                                                          MemoryKind::kPageArea),
                                          testing::Values(Extent::kOnce, Extent::kFromThenOn)),
                         ShortageName);

constexpr int64_t kSitesMax = 100;  // upper bound of allocations in one call

TEST_P(AllocationTest, ACallFailsWithoutEffectOrSucceedsWithoutTheMemory) {
#ifdef NDEBUG
  if (kind() != MemoryKind::kHeap) GTEST_SKIP() << "pools fail in debug builds only";
#endif
  Mounted mounted = Mount(whole_paths());
  for (const Operation& operation : Operations()) {
    if (kind() == MemoryKind::kPageArea) {
      if (operation.warm) continue;  // its pages are mapped by then
      mounted = Mount(whole_paths());
    }
    int64_t succeed = 0;
    while (Attempt(mounted, operation, succeed)) {
      ASSERT_LT(++succeed, kSitesMax) << operation.name;
      ASSERT_FALSE(HasFailure());
      // Pools keep their mapped pages.
      if (kind() == MemoryKind::kPageArea) mounted = Mount(whole_paths());
    }
    ASSERT_FALSE(HasFailure());
    faults::ExpectAllEvictable(*mounted.client);
  }
  EXPECT_GT(shortages_, 20);
  EXPECT_GT(failed_calls_, 10);
}

TEST_P(AllocationTest, AMountIsMadeWholeOrNotAtAll) {
#ifdef NDEBUG
  if (kind() != MemoryKind::kHeap) GTEST_SKIP() << "pools fail in debug builds only";
#endif
  for (int64_t succeed = 0;; ++succeed) {
    ASSERT_LT(succeed, 2 * kSitesMax);
    Mounted mounted;
    auto server = NewServer(whole_paths(), &mounted.server);
    const MountOptions options = Options();
    std::expected<std::unique_ptr<Client>, MountError> client;
    bool occurred;
    {
      AllocationShortage shortage(kind(), extent(), succeed);
      client = Client::MountOver(std::move(server), options);
      occurred = shortage.occurred();
    }
    ASSERT_EQ(client.has_value(), !occurred) << succeed;
    if (client) {
      faults::ExpectAllEvictable(**client);
      EXPECT_GE(succeed, 2);
      break;
    }
    EXPECT_EQ(client.error().error, std::errc::not_enough_memory);
    EXPECT_EQ(client.error().message, "out of memory");
  }
}

TEST_P(AllocationTest, DroppingTheCachesNeedsNoMemory) {
  ForEachHashPolicy([this](Mounted& mounted, const Paths&) {
    EXPECT_GT(mounted.client->stats().inodes, 3u);
    ClientInternals::SuperblockOf(*mounted.client).background.Wait();
    {
      AllocationShortage shortage(kind(), extent(), 0);
      mounted.client->DropCaches();
    }
    EXPECT_EQ(mounted.client->stats().dentries, 1u);
    EXPECT_EQ(mounted.client->stats().inodes, 1u);
    EXPECT_EQ(mounted.client->stats().access_entries, 0u);
  });
}

TEST_P(AllocationTest, InvalidatingTheCachesNeedsNoMemory) {
  ForEachHashPolicy([this](Mounted& mounted, const Paths& paths) {
    mounted.server->Edit(paths.file_id, [](Attributes& attributes) { attributes.mode = 0111; });
    {
      AllocationShortage shortage(kind(), extent(), 0);
      mounted.client->InvalidateCaches();
    }
    const auto seen = mounted.client->Stat(paths.file, me_);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->mode, 0111u);
  });
}

TEST_P(AllocationTest, UnmountingNeedsNoMemory) {
  ForEachHashPolicy([this](Mounted& mounted, const Paths&) {
    AllocationShortage shortage(kind(), extent(), 0);
    mounted.client.reset();  // pools assert that they are empty
  });
}

// --- RCU-walk ---

class RcuAllocationTest : public testing::Test {
 protected:
  RcuAllocationTest() : mounted_(Mount(false)), client_(*mounted_.client) {
    mounted_.Add("top", paths_);
  }
  uint64_t NeedsMemory() const {
    return client_.stats().need_ref[static_cast<size_t>(NeedRef::kAllocation)];
  }

  const Credential me_{1, 1}, another_{2, 2};
  const Mounted mounted_;
  Client& client_;
  Paths paths_;
};

TEST_F(RcuAllocationTest, WarmCallsDoNotAllocate) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Of(client_.Stat(paths_.link, me_, {.no_follow = true})).error, std::errc{});
    ASSERT_EQ(ReadLink(client_, paths_, me_).value, 250u);
    ASSERT_EQ(Access(client_, paths_, me_).error, std::errc{});
  }
  const uint64_t ref_walks = client_.stats().ref_walks;
  const int64_t allocations = fixtures::HeapAllocations();
  EXPECT_EQ(Of(client_.Stat(paths_.link, me_, {.no_follow = true})).error, std::errc{});
  EXPECT_EQ(ReadLink(client_, paths_, me_).value, 250u);
  EXPECT_EQ(Access(client_, paths_, me_).error, std::errc{});
  EXPECT_EQ(StatFile(client_, paths_, me_).value, paths_.file_id);
  EXPECT_EQ(fixtures::HeapAllocations(), allocations);
  EXPECT_EQ(client_.stats().ref_walks, ref_walks);
  EXPECT_EQ(NeedsMemory(), 1u) << "for the first credential";
}

#ifndef NDEBUG
// WALK-28.
TEST_F(RcuAllocationTest, ANewCredentialNeedsRefWalk) {
  ASSERT_EQ(StatFile(client_, paths_, me_).value, paths_.file_id);
  const uint64_t before = NeedsMemory();
  {
    AllocationShortage shortage(MemoryKind::kPoolObject, Extent::kFromThenOn, 0);
    EXPECT_EQ(client_.Stat(paths_.file, another_, {.cached = true}).error(),
              std::errc::resource_unavailable_try_again);
    EXPECT_FALSE(shortage.occurred()) << "nothing was asked for under RCU";
    EXPECT_EQ(StatFile(client_, paths_, another_).error, std::errc::not_enough_memory);
    EXPECT_TRUE(shortage.occurred());
  }
  EXPECT_EQ(NeedsMemory(), before + 2);
  EXPECT_EQ(StatFile(client_, paths_, another_).value, paths_.file_id);
  faults::ExpectAllEvictable(client_);
}
#endif

TEST_F(RcuAllocationTest, APathThatExceedsItsBufferNeedsRefWalk) {
  for (int i = 0; i < 2; ++i) {  // the first revalidates the root
    ASSERT_EQ(StatThroughLinks(client_, paths_, me_).value, paths_.file_id);
  }
  const uint64_t before = NeedsMemory();
  {
    AllocationShortage shortage(MemoryKind::kHeap, Extent::kFromThenOn, 0);
    EXPECT_EQ(client_.Stat(paths_.through_links, me_, {.cached = true}).error(),
              std::errc::resource_unavailable_try_again);
    EXPECT_FALSE(shortage.occurred()) << "nothing was asked for under RCU";
    EXPECT_EQ(StatThroughLinks(client_, paths_, me_).error, std::errc::not_enough_memory);
  }
  EXPECT_EQ(NeedsMemory(), before + 2);
  EXPECT_EQ(StatThroughLinks(client_, paths_, me_).value, paths_.file_id);
  faults::ExpectAllEvictable(client_);
}

TEST_F(RcuAllocationTest, AStrictWalkThatExceedsItsReadSetNeedsRefWalk) {
  std::string far = paths_.directory;
  while (far.size() < 3000) far += "/../d";
  const auto stat = [&](bool cached) {
    return Of(client_.Stat(far, me_, {.cached = cached, .strict = true}));
  };
  const Answer found = stat(false);
  ASSERT_EQ(found.error, std::errc{});
  const uint64_t before = NeedsMemory();
  Answer cached, uncached;
  bool cached_asked = false;
  {
    AllocationShortage shortage(MemoryKind::kHeap, Extent::kFromThenOn, 0);
    cached = stat(true);
    cached_asked = shortage.occurred();
    uncached = stat(false);
  }
  EXPECT_EQ(cached.error, std::errc::resource_unavailable_try_again);
  EXPECT_FALSE(cached_asked);
  EXPECT_EQ(uncached.error, std::errc::not_enough_memory);
  EXPECT_EQ(NeedsMemory(), before + 2);
  EXPECT_EQ(stat(false), found);
  faults::ExpectAllEvictable(client_);
}

}  // namespace
}  // namespace nfswalk
