// Batches against a real server: the answers of single calls, in the caller's order, in no more
// calls.

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fixtures/faulty_mount.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

using fixtures::MountedExport;

constexpr std::string_view kLasting = "actimeo=600";

class Batches : public fixtures::VersionedExport {
 protected:
  static std::vector<std::string_view> Views(const std::vector<std::string>& paths) {
    return {paths.begin(), paths.end()};
  }
  static std::vector<Result<Attributes>> StatEach(Client& client,
                                                  const std::vector<std::string>& paths,
                                                  const Credential& who, ResolveFlags flags = {}) {
    std::vector<Result<Attributes>> results(paths.size(), std::unexpected(std::errc::io_error));
    client.StatEach(Views(paths), who, results, flags);
    return results;
  }
  // The first `room` bytes of each; "?" and the error of those that failed.
  static std::vector<std::string> ReadEach(Client& client, const std::vector<std::string>& paths,
                                           const Credential& who, size_t room,
                                           ResolveFlags flags = {}) {
    std::vector<std::string> texts(paths.size(), std::string(room, '#'));
    std::vector<std::span<std::byte>> into;
    for (std::string& text : texts) into.push_back(std::as_writable_bytes(std::span(text)));
    std::vector<Result<size_t>> results(paths.size(), std::unexpected(std::errc::io_error));
    client.ReadEach(Views(paths), into, who, results, flags);
    for (size_t i = 0; i < paths.size(); ++i) {
      if (results[i]) {
        texts[i].resize(*results[i]);
      } else {
        texts[i] = "?" + std::make_error_code(results[i].error()).message();
      }
    }
    return texts;
  }
  static std::string ReadAlone(Client& client, const std::string& path, const Credential& who,
                               size_t room, ResolveFlags flags = {}) {
    std::string text(room, '#');
    const auto file = client.Open(path, kMayRead, who, flags);
    const auto count = file ? (*file)->PRead(std::as_writable_bytes(std::span(text)), 0)
                            : Result<size_t>(std::unexpected(file.error()));
    if (!count) return "?" + std::make_error_code(count.error()).message();
    text.resize(*count);
    return text;
  }
  static uint64_t Rpcs(Client& client, auto&& call) {
    const uint64_t before = client.stats().rpcs;
    call();
    return client.stats().rpcs - before;
  }
  // Every kind of end, several of each.
  std::vector<std::string> Ends() {
    MakeDirectory("a/b/c/d");
    MakeDirectory("a/secret");
    std::vector<std::string> paths;
    for (int i = 0; i < 40; ++i) {
      const std::string name = "file" + std::to_string(i);
      MakeFile("a/b/c/" + name, std::string(static_cast<size_t>(i), 'x'));
      MakeFile("a/secret/" + name);
      paths.push_back(Path("a/b/c/" + name));
      paths.push_back(Path("a/secret/" + name));
      paths.push_back(Path("a/b/missing" + std::to_string(i)));
      paths.push_back(Path("a/b/missing/" + name));
      paths.push_back(Path("a/link/" + name));
    }
    MakeLink("b/c", "a/link");
    MakeLink("nowhere", "a/broken");
    chmod(Backing("a/secret").c_str(), 0700);
    for (const char* path :
         {"a", "a/b/", "a/b/../link", "a/broken", "a/b/c/file1/x", "a/b/c/file1/", "./a//b/./c",
          "a/b/c/../../b/c/d", "a/broken/x", "a/b/c/file1", "a/b/c/file1"}) {
      paths.push_back(Path(path));
    }
    paths.push_back("");
    paths.push_back("/");
    paths.push_back(std::string(5000, 'x'));
    paths.push_back(Path(std::string(300, 'y')));
    paths.push_back(Path(std::string("a/b\0c", 5)));
    return paths;
  }
};

struct Variant {
  const char* options;
  ResolveFlags flags;
};

// NAME-27.
TEST_P(Batches, AnswerAsSingleCallsDoInNoMoreCalls) {
  const std::vector<std::string> paths = Ends();
  const Variant variants[] = {
      {"actimeo=600", {}},
      {"actimeo=600", {.no_follow = true}},
      {"actimeo=600", {.no_symlinks = true}},
      {"actimeo=600", {.beneath = true}},
      {"actimeo=600", {.strict = true}},
      {"actimeo=600", {.dont_cache = true}},
      {"actimeo=600", {.cached = true}},
      {"actimeo=600&nordirplus", {}},
      {"actimeo=600&nordirplus&nocompound", {}},
      {"actimeo=600&lookupcache=pos", {}},
      {"actimeo=600&lookupcache=none", {}},
      {"noac", {}},
      {"actimeo=600&walk=ref", {}},
      {"actimeo=600&dentries=1000&inodes=1000", {}},
  };
  for (const Variant& variant : variants) {
    for (const Credential& who : {Credential(0, 0), Credential(1001, 1001)}) {
      auto one_by_one = Mount(variant.options);
      auto together = Mount(variant.options);
      ASSERT_TRUE(one_by_one && together);
      std::vector<Result<Attributes>> expected, results;
      const uint64_t single_rpcs = Rpcs(*one_by_one, [&] {
        for (const std::string& path : paths) {
          expected.push_back(one_by_one->Stat(path, who, variant.flags));
        }
      });
      const uint64_t rpcs =
          Rpcs(*together, [&] { results = StatEach(*together, paths, who, variant.flags); });
      EXPECT_LE(rpcs, single_rpcs) << variant.options << " variant " << &variant - variants;
      for (size_t i = 0; i < paths.size(); ++i) {
        const std::string text = std::string(variant.options) + " " + paths[i].substr(0, 80);
        ASSERT_EQ(results[i].has_value(), expected[i].has_value()) << text;
        if (results[i]) {
          EXPECT_EQ(results[i]->fileid, expected[i]->fileid) << text;
          EXPECT_EQ(results[i]->size_bytes, expected[i]->size_bytes) << text;
        } else {
          EXPECT_EQ(results[i].error(), expected[i].error()) << text;
        }
      }
    }
  }
}

TEST_P(Batches, ColdNamesTakeFewCallsAndAreCached) {
  std::vector<std::string> paths;
  for (int directory = 0; directory < 8; ++directory) {
    MakeDirectory("d" + std::to_string(directory) + "/deep");
    for (int i = 0; i < 100; ++i) {
      const std::string name = "d" + std::to_string(directory) + "/deep/" + std::to_string(i);
      if (i % 10 != 0) MakeFile(name);
      paths.push_back(Path(name));
    }
  }
  for (const char* options : {"actimeo=600", "actimeo=600&nordirplus"}) {
    auto client = Mount(options);
    ASSERT_NE(client, nullptr);
    const uint64_t rpcs = Rpcs(*client, [&] {
      const auto results = StatEach(*client, paths, root_);
      for (size_t i = 0; i < paths.size(); ++i) EXPECT_EQ(results[i].has_value(), i % 10 != 0) << i;
    });
    const bool listed = std::string_view(options) == "actimeo=600";
    if (listed) {
      EXPECT_LE(rpcs, 200u) << "listings and 80 names that are missing";
    }
    EXPECT_LE(rpcs, paths.size() + 40) << options;
    if (version() == 4 && !listed) {
      EXPECT_LE(rpcs, 300u) << "shared COMPOUNDs";
    }
    EXPECT_EQ(Rpcs(*client,
                   [&] {
                     const auto results = StatEach(*client, paths, root_, {.cached = true});
                     for (size_t i = 0; i < paths.size(); ++i) {
                       EXPECT_EQ(results[i] ? std::errc{} : results[i].error(),
                                 i % 10 != 0 ? std::errc{} : std::errc::no_such_file_or_directory)
                           << i;
                     }
                   }),
              0u)
        << options;
  }
}

// The rights of directories whose parent was listed come by themselves.
TEST_P(Batches, WholeDirectoriesAreListed) {
  std::vector<std::string> paths;
  for (int directory = 0; directory < 20; ++directory) {
    MakeDirectory("top/" + std::to_string(directory));
    for (int i = 0; i < 100; ++i) {
      const std::string name = "top/" + std::to_string(directory) + "/" + std::to_string(i);
      MakeFile(name);
      paths.push_back(Path(name));
    }
  }
  auto client = Mount(kLasting);
  ASSERT_NE(client, nullptr);
  EXPECT_LE(Rpcs(*client,
                 [&] {
                   for (const auto& result : StatEach(*client, paths, root_)) EXPECT_TRUE(result);
                 }),
            60u);
}

// In several replies.
TEST_P(Batches, LargeDirectoryIsListedToItsEnd) {
  MakeDirectory("large");
  std::vector<std::string> paths;
  for (int i = 0; i < 1500; ++i) {
    MakeFile("large/" + std::to_string(i));
    paths.push_back(Path("large/" + std::to_string(i)));
  }
  auto client = Mount(kLasting);
  ASSERT_NE(client, nullptr);
  EXPECT_LE(Rpcs(*client,
                 [&] {
                   for (const auto& result : StatEach(*client, paths, root_)) EXPECT_TRUE(result);
                 }),
            40u);
}

TEST_P(Batches, CachedPathsAreWalkedOnce) {
  const std::vector<std::string> paths = Ends();
  auto client = Mount(kLasting);
  ASSERT_NE(client, nullptr);
  (void)StatEach(*client, paths, root_);
  const auto cached = StatEach(*client, paths, root_);
  const Stats before = client->stats();
  EXPECT_TRUE(StatEach(*client, paths, root_) == cached);
  const Stats after = client->stats();
  EXPECT_EQ(after.rpcs, before.rpcs);
  EXPECT_LE(after.rcu_walks - before.rcu_walks, paths.size());
}

// Changes that another client has made meanwhile are seen once the caches have expired.
TEST_P(Batches, RevalidateWhatHasExpired) {
  MakeDirectory("d");
  std::vector<std::string> paths;
  for (int i = 0; i < 50; ++i) {
    MakeFile("d/" + std::to_string(i));
    paths.push_back(Path("d/" + std::to_string(i)));
  }
  auto client = Mount(kLasting);
  ASSERT_NE(client, nullptr);
  (void)StatEach(*client, paths, root_);
  MakeFile("d/7", "longer");
  unlink(Backing("d/8").c_str());
  client->InvalidateCaches();
  const auto results = StatEach(*client, paths, root_);
  for (size_t i = 0; i < paths.size(); ++i) {
    ASSERT_EQ(results[i].has_value(), i != 8) << i;
    if (i != 8) {
      EXPECT_EQ(results[i]->size_bytes, i == 7 ? 6u : 0u) << i;
    }
  }
}

TEST_P(Batches, NodesBelongToTheirPaths) {
  MakeDirectory("d");
  std::vector<std::string> paths;
  for (int i = 0; i < 30; ++i) {
    MakeFile("d/" + std::to_string(i), std::string(static_cast<size_t>(i), 'x'));
    paths.push_back(std::to_string(29 - i));
  }
  paths.push_back("missing");
  auto client = Mount(kLasting);
  ASSERT_NE(client, nullptr);
  auto directory = client->Resolve(Path("d"), root_);
  ASSERT_TRUE(directory);
  std::vector<Result<std::unique_ptr<Node>>> nodes(paths.size());
  (*directory)->ResolveEach(Views(paths), root_, nodes);
  for (size_t i = 0; i < 30; ++i) {
    ASSERT_TRUE(nodes[i]) << i;
    EXPECT_EQ((*nodes[i])->Stat("", root_)->size_bytes, 29 - i);
  }
  EXPECT_EQ(nodes[30].error(), std::errc::no_such_file_or_directory);
}

TEST_P(Batches, ManyAtOnceWithChangesAgree) {
  MakeDirectory("d");
  std::vector<std::string> paths;
  for (int i = 0; i < 200; ++i) {
    MakeFile("d/" + std::to_string(i));
    paths.push_back(Path("d/" + std::to_string(i)));
  }
  auto client = Mount("actimeo=600&nordirplus");
  ASSERT_NE(client, nullptr);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 5; ++turn) {
        const auto results = StatEach(*client, paths, root_);
        // The first half stays.
        for (size_t i = 0; i < 100; ++i) EXPECT_TRUE(results[i]) << i;
        client->DropCaches();
      }
    });
  }
  threads.emplace_back([&] {
    for (size_t i = 100; i < 200; ++i) {
      EXPECT_EQ(client->Unlink(paths[i], root_), std::errc{});
      EXPECT_EQ(client->Stat(paths[i], root_).error(), std::errc::no_such_file_or_directory);
    }
  });
  threads.clear();
  const auto results = StatEach(*client, paths, root_);
  for (size_t i = 0; i < 200; ++i) EXPECT_EQ(results[i].has_value(), i < 100) << i;
}

TEST_P(Batches, EndWithTheirDeadlineAndWhenCanceled) {
  MakeDirectory("d");
  std::vector<std::string> paths;
  for (int i = 0; i < 3000; ++i) paths.push_back(Path("d/" + std::to_string(i)));
  MakeFile("d/cached");
  paths.push_back(Path("d/cached"));
  auto client = Mount("actimeo=600&hard");
  ASSERT_TRUE(client && client->Stat(paths.back(), root_));
  server().Hang();
  {
    // The signal may take effect after the next answer.
    const Deadline deadline(Deadline::Clock::now() + std::chrono::milliseconds(100));
    std::errc error{};
    do error = client->GetSpace(Path("d"), root_) ? std::errc{} : std::errc::timed_out;
    while (error == std::errc{});
    const auto results = StatEach(*client, paths, root_);
    for (size_t i = 0; i < 3000; ++i) ASSERT_EQ(results[i].error(), std::errc::timed_out) << i;
    EXPECT_TRUE(results.back());
    const std::string late = std::make_error_code(std::errc::timed_out).message();
    for (const std::string& text : ReadEach(*client, paths, root_, 1)) EXPECT_EQ(text, "?" + late);
  }
  {
    Cancellation cancellation;
    const CancelScope scope(cancellation);
    const uint64_t before = client->stats().rpcs;
    const std::jthread canceler([&] {
      while (client->stats().rpcs == before) std::this_thread::yield();
      cancellation.Cancel();
    });
    const auto results = StatEach(*client, paths, root_);
    for (size_t i = 0; i < 3000; ++i) {
      ASSERT_EQ(results[i].error(), std::errc::operation_canceled) << i;
    }
    EXPECT_TRUE(results.back());
  }
  server().Resume();
  EXPECT_EQ(StatEach(*client, paths, root_)[0].error(), std::errc::no_such_file_or_directory);
}

// NAME-27.
TEST_P(Batches, ReadAsSingleCallsDoInNoMoreCalls) {
  std::vector<std::string> paths = Ends();
  for (const int mode : {0, 0200, 0400, 0040, 0004, 0444}) {
    const std::string name = "a/mode" + std::to_string(mode);
    for (const uid_t owner : {0, 1001}) {
      const std::string of_owner = name + "-" + std::to_string(owner);
      MakeFile(of_owner, "contents");
      ASSERT_EQ(chown(Backing(of_owner).c_str(), owner, owner), 0);
      ASSERT_EQ(chmod(Backing(of_owner).c_str(), mode), 0);
      paths.push_back(Path(of_owner));
    }
  }
  ASSERT_EQ(mkfifo(Backing("a/fifo").c_str(), 0666), 0);
  paths.push_back(Path("a/fifo"));
  MakeFile("a/large", std::string(5000, 'l'));
  paths.push_back(Path("a/large"));
  const Variant variants[] = {
      {"actimeo=600", {}},
      {"actimeo=600&nocto", {}},
      {"actimeo=600&rsize=4096", {}},
      {"actimeo=600", {.no_follow = true}},
      {"actimeo=600", {.beneath = true}},
      {"actimeo=600", {.dont_cache = true}},
      {"actimeo=600", {.cached = true}},
      {"actimeo=600&nordirplus", {}},
      {"noac", {}},
      {"actimeo=600&walk=ref", {}},
  };
  for (const Variant& variant : variants) {
    const bool all_rooms = &variant - variants < 3;
    for (const Credential& who : {Credential(0, 0), Credential(1001, 1001)}) {
      for (const size_t room :
           all_rooms ? std::vector<size_t>{0, 10, 4096, 8192} : std::vector<size_t>{10}) {
        auto one_by_one = Mount(variant.options);
        auto together = Mount(variant.options);
        ASSERT_TRUE(one_by_one && together);
        std::vector<std::string> expected, results;
        const uint64_t single_rpcs = Rpcs(*one_by_one, [&] {
          for (const std::string& path : paths) {
            expected.push_back(ReadAlone(*one_by_one, path, who, room, variant.flags));
          }
        });
        const uint64_t rpcs = Rpcs(
            *together, [&] { results = ReadEach(*together, paths, who, room, variant.flags); });
        EXPECT_LE(rpcs, single_rpcs) << variant.options << " variant " << &variant - variants;
        for (size_t i = 0; i < paths.size(); ++i) {
          EXPECT_EQ(results[i], expected[i])
              << variant.options << " " << who.uid() << " " << paths[i].substr(0, 80);
        }
      }
    }
  }
}

TEST_P(Batches, ReadWhatTheServerHasNowAndWhatThisClientWrote) {
  MakeDirectory("d");
  std::vector<std::string> paths;
  for (int i = 0; i < 300; ++i) {
    MakeFile("d/" + std::to_string(i), "old");
    paths.push_back(Path("d/" + std::to_string(i)));
  }
  auto client = Mount(kLasting);
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(ReadEach(*client, paths, root_, 10), std::vector<std::string>(300, "old"));
  MakeFile("d/7", "longer");
  MakeFile("d/8");
  auto file = client->Open(paths[9], kMayRead | kMayWrite, root_);
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->PWrite(std::as_bytes(std::span("!", 1)), 1), 1u);
  std::vector<std::string> texts;
  const uint64_t rpcs = Rpcs(*client, [&] { texts = ReadEach(*client, paths, root_, 10); });
  EXPECT_LE(rpcs, 310u) << "a READ each, and the write";
  for (size_t i = 0; i < paths.size(); ++i) {
    EXPECT_EQ(texts[i], i == 7 ? "longer" : i == 8 ? "" : i == 9 ? "o!d" : "old") << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, Batches, fixtures::AllVersions(), fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
