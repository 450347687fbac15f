// A listing in several calls, a directory that becomes stale between two of them, and listings that
// do not end.
#include "nfsclient/nfs/readdir.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

class ReadDirectoryTest : public MemoryMount {
 protected:
  ReadDirectoryTest() {
    server_->ListAtMost(1);
    const uint64_t directory = server_->Add(kRoot, "d", FileType::kDirectory);
    for (const char* name : {"a", "b", "c"}) server_->Add(directory, name, FileType::kRegular);
    Mount();
  }
  uint64_t IdOf(const std::string& path) const { return StatAs(another_, path); }
  std::errc List(std::vector<std::string>& names) {
    return client_->ReadDir("d", me_, [&](const DirectoryEntry& entry) {
      names.push_back(entry.name);
      return true;
    });
  }
};

TEST_F(ReadDirectoryTest, GoesOnWhereTheLastCallEnded) {
  std::vector<std::string> names;
  EXPECT_EQ(List(names), std::errc{});
  EXPECT_EQ(names.size(), 3u);
}

// NAME-5: the open asks by the listing's first reply, and a reader who comes later is not to get that.
TEST_F(ReadDirectoryTest, ShowsWhatWasMadeSinceItWasOpened) {
  server_->ListAtMost(100);
  // Rights and names are cached: nothing but the listing asks.
  ASSERT_TRUE(client_->OpenDirectory("d", me_).has_value());
  int listings = 0;
  on_reply_ = [&](const fixtures::Call& call) { listings += call.procedure == "READDIR"; };
  const auto directory = client_->OpenDirectory("d", me_);
  ASSERT_TRUE(directory.has_value());
  EXPECT_EQ(listings, 1);
  ASSERT_TRUE(client_->Create("d/new", 0600, true, me_).has_value());
  std::vector<std::string> names;
  EXPECT_EQ((*directory)->Read(0,
                               [&](const DirectoryEntry& entry) {
                                 names.push_back(entry.name);
                                 return true;
                               }),
            std::errc{});
  EXPECT_EQ(names.size(), 4u);
}

// Who may list a directory but not search it sees names, and nothing behind them.
TEST_F(ReadDirectoryTest, LeadsNobodyWhoMayNotSearchToWhatItLists) {
  server_->Grant(IdOf("d"), access_cache::kServerRead, me_.uid());
  const auto directory = client_->OpenDirectory("d", me_);
  ASSERT_TRUE(directory.has_value());
  std::vector<DirectoryEntry> entries;
  EXPECT_EQ((*directory)->Read(0,
                               [&](const DirectoryEntry& entry) {
                                 entries.push_back(entry);
                                 return true;
                               }),
            std::errc{});
  ASSERT_FALSE(entries.empty());
  const auto found = (*directory)->LookupListed(entries[0]);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error(), std::errc::permission_denied);
}

// Repeating the walk would return the first entries twice.
TEST_F(ReadDirectoryTest, DoesNotBeginAgainWithADirectoryThatBecameStale) {
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure == "READDIR") protocol_->FailOnce("READDIR", protocol::kStale);
  };
  std::vector<std::string> names;
  EXPECT_EQ(List(names), protocol::kStale);
  EXPECT_EQ(names.size(), 1u);
}

// NAME-35.
TEST_F(ReadDirectoryTest, GoesOnByTheCookieWhereTheServerRefusesItsVerifier) {
  int refusals = 0;
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure != "READDIR" || ++refusals > 1) return;
    protocol_->FailOnce("READDIR", std::errc::invalid_argument);
  };
  server_->VerifyListings(7);
  std::vector<std::string> names;
  EXPECT_EQ(List(names), std::errc{});
  EXPECT_EQ(names.size(), 3u);
  EXPECT_EQ(protocol_->Calls("READDIR"), 4u);
}

TEST_F(ReadDirectoryTest, EndsWhereTheServerRefusesTheCookie) {
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure == "READDIR") protocol_->Fail("READDIR", std::errc::invalid_argument);
  };
  server_->VerifyListings(7);
  std::vector<std::string> names;
  EXPECT_EQ(List(names), std::errc::invalid_argument);
  EXPECT_EQ(names.size(), 1u);
  EXPECT_EQ(protocol_->Calls("READDIR"), 3u);
}

TEST_F(ReadDirectoryTest, LooksForADirectoryThatWasStaleFromTheStart) {
  protocol_->FailOnce("READDIR", protocol::kStale);
  std::vector<std::string> names;
  EXPECT_EQ(List(names), std::errc{});
  EXPECT_EQ(names.size(), 3u);
}

TEST_F(ReadDirectoryTest, EachPartHasTheWholeTimeAndVisitorsHaveTheirOwn) {
  using protocol::CallDeadline;
  protocol_->LimitCalls(std::chrono::hours(1));
  std::vector<CallDeadline::Clock::time_point> limits;
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure == "READDIR") limits.push_back(CallDeadline::Current());
  };
  const auto visit = [](const DirectoryEntry&) {
    EXPECT_EQ(CallDeadline::Current(), CallDeadline::Clock::time_point::max());
    return true;
  };
  EXPECT_EQ(client_->ReadDir("d", me_, visit), std::errc{});
  ASSERT_GE(limits.size(), 3u);
  EXPECT_LT(limits[0], limits[1]);
  EXPECT_LT(limits[1], limits[2]);
}

// A server whose calls of READDIR answer with these pieces, one after the other, for ever.
class LoopingServer final : public fixtures::MemoryServer {
 public:
  using Piece = std::vector<std::pair<std::string_view, uint64_t>>;  // names with their cookies
  LoopingServer(std::vector<Piece> pieces, size_t first_of_loop)
      : pieces_(std::move(pieces)), first_of_loop_(first_of_loop) {}

  protocol::ReadDirReply ReadDir(const FileHandle&, protocol::ReadDirPosition, bool,
                                 const Credential&) override {
    protocol::ReadDirReply reply;
    for (const auto& [name, cookie] : pieces_[next_]) {
      protocol::DirectoryEntry& entry = reply.entries.emplace_back();
      entry.name = name;
      entry.cookie = cookie + added_;
    }
    reply.eof = ends_ && next_ + 1 == pieces_.size();
    if (++next_ == pieces_.size()) {
      next_ = first_of_loop_;
      added_ += grows_;
    }
    ++calls_;
    return reply;
  }
  void LetCookiesGrow() { grows_ = 100; }
  void EndAfterLast() { ends_ = true; }
  size_t calls() const { return calls_; }

 private:
  const std::vector<Piece> pieces_;
  const size_t first_of_loop_;
  size_t next_ = 0, calls_ = 0;
  uint64_t added_ = 0, grows_ = 0;
  bool ends_ = false;
};

// WIRE-11.
TEST(ReadDirectoryLoop, ListingThatDoesNotEndIsELOOP) {
  using Pieces = std::vector<LoopingServer::Piece>;
  Pieces long_lead;
  for (uint64_t i = 1; i <= 100; ++i) long_lead.push_back({{"f", i}});
  struct Row {
    std::string_view name;
    Pieces pieces;
    size_t first_of_loop = 0;
    bool cookies_grow = false;
    std::errc error = std::errc::too_many_symbolic_link_levels;
  };
  const std::vector<Row> rows = {
      {"the same cookie", {{{"a", 5}}}},
      {"cookie 0 at once", {{{"a", 0}}}},
      {"cookie 0 later", {{{"a", 5}}, {{"b", 0}}}},
      {"two in turn", {{{"a", 5}}, {{"b", 7}}}},
      {"a loop after others", {{{"a", 1}}, {{"b", 2}}, {{"c", 5}}, {{"d", 7}}}, 2},
      {"a loop of one after many", long_lead, 99},
      {"a loop of many", long_lead, 0},
      {"a name twice in a reply", {{{"a", 9}, {"b", 7}, {"a", 9}}}},
      {"a name twice at the end of a reply", {{{"a", 1}, {"b", 2}, {"b", 3}}}},
      {"several entries a call", {{{"a", 1}, {"b", 2}}, {{"c", 3}, {"d", 4}}}},
      {"nothing but \".\"", {{{".", 1}}}, 0, /*cookies_grow=*/true},
      {"dots in turn", {{{".", 1}}, {{"..", 2}}}, 0, /*cookies_grow=*/true},
      {"no entry", {LoopingServer::Piece()}, 0, false, std::errc::io_error},
  };
  for (const auto& [name, pieces, first_of_loop, cookies_grow, error] : rows) {
    auto server = std::make_unique<LoopingServer>(pieces, first_of_loop);
    LoopingServer& calls = *server;
    if (cookies_grow) server->LetCookiesGrow();
    const auto client = std::move(*Client::MountOver(std::move(server), {}));
    EXPECT_EQ(client->ReadDir("/", {1, 1}, [](const DirectoryEntry&) { return true; }), error)
        << name;
    EXPECT_LE(calls.calls(), 4 * pieces.size() + 4) << name;
  }
}

// WIRE-11: as of a directory on tmpfs whose entries others rename all the time, in one reply or many.
TEST(ReadDirectoryLoop, NamesThatAreMovedToTheEndAreNotListedForEver) {
  using Piece = LoopingServer::Piece;
  const Piece all = {{"a", 1}, {"b", 2}, {"c", 3}};
  Piece long_one;
  for (uint64_t i = 1; i <= 99; ++i) long_one.emplace_back(all[i % 3].first, i);
  const std::vector<std::vector<Piece>> listings = {
      {all}, {{all[0]}, {all[1]}, {all[2]}}, {long_one}};
  for (const std::vector<Piece>& pieces : listings) {
    auto server = std::make_unique<LoopingServer>(pieces, 0);
    LoopingServer& calls = *server;
    server->LetCookiesGrow();
    const auto client = std::move(*Client::MountOver(std::move(server), {}));
    std::set<std::string> names;
    EXPECT_EQ(client->ReadDir("/", {1, 1},
                              [&](const DirectoryEntry& entry) {
                                names.insert(entry.name);
                                return true;
                              }),
              std::errc::too_many_symbolic_link_levels);
    EXPECT_EQ(names, (std::set<std::string>{"a", "b", "c"}));
    EXPECT_LE(calls.calls(), 100u);
  }
}

// The entries that a reader is shown which takes so many at a time, has an error only where it was
// shown none, as READDIR of FUSE, and goes on after the last one: their names, and the error.
std::string ListedInParts(Directory& directory, size_t entries_of_part) {
  constexpr int kPartsMax = 20;
  std::string names;
  uint64_t cookie = 0;
  for (int part = 0; part < kPartsMax; ++part) {
    size_t shown = 0;
    const std::errc error = directory.Read(cookie, [&](const DirectoryEntry& entry) {
      if (shown == entries_of_part) return false;
      ++shown;
      names += entry.name;
      cookie = entry.cookie;
      return true;
    });
    if (shown == 0) return names + ' ' + std::make_error_code(error).message();
  }
  return names + " without an end";
}

// WIRE-11.
TEST(ReadDirectoryLoop, ReaderInPartsComesToAnEnd) {
  using Pieces = std::vector<LoopingServer::Piece>;
  struct Row {
    std::string_view name;
    Pieces pieces;
    bool cookies_grow = false;
  };
  const std::vector<Row> rows = {
      {"shown entries", {{{"a", 1}, {"b", 2}}, {{"c", 3}, {"d", 4}}, {{"e", 5}, {"f", 6}}}},
      {"dots at each end", {{{"a", 1}, {".", 2}}, {{"b", 3}, {"..", 4}}}},
      {"more dots at each end", {{{"a", 1}, {".", 2}}, {{"b", 3}, {"..", 4}}}, true},
      {"a cookie 0 before the end", {{{"a", 1}, {"b", 0}, {"c", 2}}}},
      {"a cookie 0 before dots", {{{"a", 1}, {"b", 0}, {".", 2}}}},
      {"cookies that repeat in a reply", {{{"a", 1}, {"b", 1}, {"c", 2}}}},
  };
  for (const auto& [name, pieces, cookies_grow] : rows) {
    for (const size_t entries_of_part : {1, 2, 100}) {
      auto server = std::make_unique<LoopingServer>(pieces, 0);
      LoopingServer& calls = *server;
      if (cookies_grow) server->LetCookiesGrow();
      const auto client = std::move(*Client::MountOver(std::move(server), {}));
      const auto directory = std::move(*client->OpenDirectory("/", {1, 1}));
      const std::string listed = ListedInParts(*directory, entries_of_part);
      EXPECT_TRUE(listed.ends_with(" Too many levels of symbolic links")) << name << ": " << listed;
      EXPECT_LE(calls.calls(), 4 * pieces.size() + 4) << name;
    }
  }
}

TEST(ReadDirectoryLoop, ReaderInPartsIsShownEachEntryOnce) {
  const std::vector<LoopingServer::Piece> replies = {
      {{"a", 7}, {"b", 7}, {".", 8}}, {{"c", 9}, {"d", 9}, {"..", 9}}, {{"e", 12}}};
  for (const size_t entries_of_part : {1, 2, 3, 100}) {
    auto server = std::make_unique<LoopingServer>(replies, 0);
    server->EndAfterLast();
    const auto client = std::move(*Client::MountOver(std::move(server), {}));
    const auto directory = std::move(*client->OpenDirectory("/", {1, 1}));
    EXPECT_EQ(ListedInParts(*directory, entries_of_part), "abcde Success") << entries_of_part;
  }
}

// nfs-ganesha 4.3, for a moment, in a directory that others change.
TEST(ReadDirectoryLoop, CircularReplyIsAskedForAgain) {
  const std::vector<LoopingServer::Piece> replies = {
      {{".", 1}, {"..", 2}, {"a", 9}, {"b", 7}, {"c", 4}, {"a", 9}, {"b", 7}},
      {{".", 1}, {"..", 2}, {"a", 9}, {"b", 7}, {"c", 4}},
      {{"d", 3}, {"e", 2}, {"f", 1}, {"e", 2}},
      {{"d", 3}, {"e", 2}, {"f", 1}},
      {}};
  auto server = std::make_unique<LoopingServer>(replies, 0);
  server->EndAfterLast();
  const auto client = std::move(*Client::MountOver(std::move(server), {}));
  std::string listed;
  EXPECT_EQ(client->ReadDir("/", {1, 1},
                            [&](const DirectoryEntry& entry) {
                              listed += entry.name;
                              return true;
                            }),
            std::errc{});
  EXPECT_EQ(listed, "abcdef");
}

}  // namespace
}  // namespace nfswalk
