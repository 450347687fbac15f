// The known bugs of path walks about the path itself: how far it is read, how many links are
// followed, how long it may be (WALK-9, WALK-10, WALK-11).
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

constexpr uint64_t kTooLong = Failed(std::errc::filename_too_long);
constexpr uint64_t kTooManyLinks = Failed(std::errc::too_many_symbolic_link_levels);

// Memory in front of an inaccessible page.
class PageEnd {
 public:
  PageEnd() : page_bytes_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    void* const area = mmap(nullptr, kPages * page_bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(area, MAP_FAILED);
    begin_ = static_cast<char*>(area);
    end_ = begin_ + (kPages - 1) * page_bytes_;
    EXPECT_EQ(mprotect(end_, page_bytes_, PROT_NONE), 0);
  }
  ~PageEnd() { munmap(begin_, kPages * page_bytes_); }
  PageEnd(const PageEnd&) = delete;
  PageEnd& operator=(const PageEnd&) = delete;

  // Copies the text so that it ends at the page's end.
  std::string_view Place(std::string_view text) const {
    std::memcpy(end_ - text.size(), text.data(), text.size());
    return {end_ - text.size(), text.size()};
  }
  std::span<char> Last(size_t bytes) const { return {end_ - bytes, bytes}; }

 private:
  static constexpr size_t kPages = 3;
  const size_t page_bytes_;
  char* begin_;
  char* end_;
};

class WalkedPath : public MemoryMount {
 protected:
  WalkedPath() {
    options_.path_cache = false;
    Mount();
    dir_ = server_->Add(kRoot, "d", FileType::kDirectory);
  }

  void MountIn(WalkMode mode) {
    options_.walk = mode;
    options_.path_cache = true;
    MountAnew();
    dir_ = server_->Add(kRoot, "d", FileType::kDirectory);
  }

  // "d/l1" leads to "d/file" by 40 links, "d/l0" by 41.
  void MakeLinks() {
    file_ = server_->Add(dir_, "file", FileType::kRegular);
    for (int i = 0; i <= 40; ++i) {
      links_[i] =
          server_->Add(dir_, LinkName(i), FileType::kSymlink, i == 40 ? "file" : LinkName(i + 1));
    }
  }
  static std::string LinkName(int i) { return "l" + std::to_string(i); }

  // Cold and warm.
  void ExpectStat(std::string_view path, uint64_t answer, std::string_view what) const {
    for (int i = 0; i < kCold; ++i) {
      EXPECT_EQ(Stat(path), answer) << what;
    }
  }

  const PageEnd page_end_;
  uint64_t dir_ = 0;
  uint64_t file_ = 0;
  std::array<uint64_t, 41> links_{};
};

#ifndef NDEBUG

// Wherever RCU-walk leaves, and after however many links: 40 are followed and 41 are not. WALK-10.
TEST_F(WalkedPath, LinksOfAnAttemptThatFailedDoNotCount) {
  MakeLinks();
  const auto expect_both = [&](int link, const std::function<void()>& prepare,
                               std::string_view what) {
    for (const int first : {1, 0}) {
      if (first == 0 && link == 40) continue;  // reading its text would be the 41st
      Warm("d/" + LinkName(first));
      prepare();
      EXPECT_EQ(Stat("d/" + LinkName(first)), first == 1 ? file_ : kTooManyLinks) << what;
      EXPECT_TRUE(reached_) << what;
      rcu::SyncPointScript::ClearAll();
    }
  };
  const auto move_away_and_back = [&] {
    Rename("d", "e");
    Rename("e", "d");
  };
  // The client notices that a link has changed, and drops its text.
  const auto change_text_of = [&](int link) {
    server_->SetTarget(links_[link], link == 40 ? "file" : LinkName(link + 1));
    List("d");
  };
  for (const int link : {1, 2, 20, 39, 40}) {
    // Restarted from the root by ref-walk.
    expect_both(link, [&] { At("walk:after-link-text", link, move_away_and_back); }, "changed");
    // Resumed by ref-walk at the position: the link count is kept.
    expect_both(
        link,
        [&] {
          change_text_of(link);
          At("unlazy:after-reference", 1, [] {});
        },
        "resumed");
    // Resuming fails since the position is gone: restarted.
    expect_both(
        link,
        [&] {
          change_text_of(link);
          At("unlazy:after-reference", 1, move_away_and_back);
        },
        "restarted");
  }
}

#endif

// The server returns ESTALE for a link: forced revalidation counts from zero.
TEST_F(WalkedPath, LinksBeforeAStaleHandleDoNotCountInForcedRevalidation) {
  MakeLinks();
  for (const int link : {1, 20, 40}) {
    for (const int first : {1, 0}) {
      Warm("d/" + LinkName(first));
      server_->SetTarget(links_[link], link == 40 ? "file" : LinkName(link + 1));
      List("d");
      protocol_->FailOnce("READLINK", protocol::kStale);
      EXPECT_EQ(Stat("d/" + LinkName(first)), first == 1 ? file_ : kTooManyLinks) << link;
      // Looked up again: without forced revalidation it would have failed.
      EXPECT_EQ(Stat("d/" + LinkName(1)), file_);
    }
  }
}

// Paths of every length, and last names of every length, at the end of a page. WALK-9.
TEST_F(WalkedPath, PathsThatEndWithAPageAreReadNoFurther) {
  std::vector<uint64_t> files(256);
  for (const WalkMode mode : {WalkMode::kRcuSearch, WalkMode::kRef}) {
    MountIn(mode);
    for (size_t length = 1; length <= 255; ++length) {
      files[length] = server_->Add(dir_, std::string(length, 'x'), FileType::kRegular);
    }
    ExpectStat(page_end_.Place(""), kMissing, "empty");
    for (size_t length = 0; length <= 300; ++length) {
      const std::string name(length, 'x');
      const uint64_t answer = length == 0 ? dir_ : length <= 255 ? files[length] : kTooLong;
      const std::string what = std::to_string(length);
      ExpectStat(page_end_.Place("d/" + name), answer, what);
      ExpectStat(page_end_.Place("/d//" + name), answer, what);
      if (length == 0) continue;
      ExpectStat(page_end_.Place("d/" + name + "/"), length <= 255 ? kNoDirectory : kTooLong, what);
      ExpectStat(page_end_.Place(std::string(length, '/') + "d"), dir_, what);
      std::string other = name;
      other.back() = 'y';
      ExpectStat(page_end_.Place("d/" + other), length <= 255 ? kMissing : kTooLong, what);
    }
  }
}

// The other strings of a caller: new names, link texts, and the buffer for a text.
TEST_F(WalkedPath, NamesAndTextsThatEndWithAPageAreReadAndWrittenNoFurther) {
  for (size_t length = 1; length <= 300; ++length) {
    const std::string name(length, 'n');
    const auto made = client_->Create(page_end_.Place("d/" + name), 0644, true, me_);
    EXPECT_EQ(made.has_value(), length <= 255) << length;
    if (!made) continue;
    EXPECT_EQ(client_->Rename(page_end_.Place("d/" + name), "d/renamed", me_), std::errc{});
    EXPECT_EQ(client_->Rename("d/renamed", page_end_.Place("d/" + name), me_), std::errc{});
    EXPECT_EQ(Stat("d/" + name), made->attributes.fileid) << length;
    EXPECT_EQ(client_->Unlink(page_end_.Place("d/" + name), me_), std::errc{});
    const std::string text(length, 't');
    ASSERT_TRUE(client_->MakeSymlink(page_end_.Place(text), "d/link", me_));
    for (int i = 0; i < kCold; ++i) {
      EXPECT_EQ(client_->ReadLink("d/link", page_end_.Last(length), me_), length);
      EXPECT_EQ(std::string_view(page_end_.Last(length).data(), length), text);
    }
    if (length > 1) {
      EXPECT_EQ(client_->ReadLink("d/link", page_end_.Last(length - 1), me_), length - 1);
    }
    EXPECT_EQ(client_->Unlink("d/link", me_), std::errc{});
  }
}

// Walks paths on both sides of PATH_MAX, and a name beyond NAME_MAX behind another error. WALK-9.
TEST_F(WalkedPath, TheLongestPathsAreWalkedAndLongerOnesAreNot) {
  for (const WalkMode mode : {WalkMode::kRcuSearch, WalkMode::kRef}) {
    MountIn(mode);
    const std::string longest(255, 'n');
    server_->Add(dir_, longest, FileType::kRegular);
    ExpectStat("missing/" + longest + "n", kMissing, "a missing directory is met first");
    ExpectStat("d/" + longest + "/" + longest + "n", kNoDirectory, "a file is met first");
    for (const size_t length : {4094, 4095, 4096}) {
      std::string path;
      while (path.size() + 2 < length) path += "./";
      path.resize(length, '/');
      path.back() = 'd';
      ASSERT_EQ(path.size(), length);
      ExpectStat(page_end_.Place(path), length <= 4095 ? dir_ : kTooLong, std::to_string(length));
      path.back() = '/';
      ExpectStat(page_end_.Place(path), length <= 4095 ? kRoot : kTooLong,
                 std::to_string(length) + " with a slash");
    }
  }
}

// All kinds of names with and without trailing slashes. WALK-11.
TEST_F(WalkedPath, ATrailingSlashAsksForADirectoryAndFollowsLinks) {
  const uint64_t dir = dir_;
  const uint64_t file = server_->Add(dir_, "file", FileType::kRegular);
  const uint64_t to_dir = server_->Add(dir_, "to_dir", FileType::kSymlink, "../d");
  const uint64_t to_dir_slash = server_->Add(dir_, "to_dir_slash", FileType::kSymlink, "../d//");
  const uint64_t to_file = server_->Add(dir_, "to_file", FileType::kSymlink, "file");
  server_->Add(dir_, "to_file_slash", FileType::kSymlink, "file/");
  server_->Add(dir_, "dangling", FileType::kSymlink, "nowhere");
  const struct {
    const char* path;
    uint64_t followed, itself;
  } kRows[] = {{"d", dir, dir},
               {"d/", dir, dir},
               {"d//", dir, dir},
               {"d/.", dir, dir},
               {"d/./", dir, dir},
               {"d/../d/", dir, dir},
               {"d/file", file, file},
               {"d/file/", kNoDirectory, kNoDirectory},
               {"d/file//", kNoDirectory, kNoDirectory},
               {"d/file/.", kNoDirectory, kNoDirectory},
               {"d/to_dir", dir, to_dir},
               {"d/to_dir/", dir, dir},
               {"d/to_dir//", dir, dir},
               {"d/to_dir/file", file, file},
               {"d/to_dir_slash", dir, to_dir_slash},
               {"d/to_dir_slash/file", file, file},
               {"d/to_file", file, to_file},
               {"d/to_file/", kNoDirectory, kNoDirectory},
               {"d/to_file_slash/", kNoDirectory, kNoDirectory},
               {"d/dangling/", kMissing, kMissing},
               {"d/missing/", kMissing, kMissing},
               {"d/missing//", kMissing, kMissing}};
  for (const auto& row : kRows) {
    for (int i = 0; i < kCold; ++i) {
      EXPECT_EQ(Stat(page_end_.Place(row.path)), row.followed) << row.path;
      EXPECT_EQ(Stat(page_end_.Place(row.path), {.no_follow = true}), row.itself) << row.path;
    }
  }
}

}  // namespace
}  // namespace nfswalk
