// Two clients of one nfs-ganesha, and a program on the server, change and read the same names: what
// each call shows is checked against the history of the export (view_history.h).
//
// --operations=N changes of each test, and --seed=N; both are printed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/protocol_versions.h"
#include "tests/integration/mount_run.h"
#include "tests/stress/history_callers.h"
#include "tests/stress/view_history.h"

namespace nfswalk::stress {
namespace {

uint64_t operations_of_test = 1500;
uint64_t seed_of_binary = std::random_device{}();

constexpr uint64_t kChangesOfRound = 500;
constexpr uint64_t kCallsBetweenChanges = 20;  // of one thread
constexpr int kNames = 5;                      // in each of two directories
constexpr int kReadersOfClient = 2;

uint64_t Nanoseconds(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}
uint64_t Now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now{};
  clock_gettime(clock, &now);
  return Nanoseconds(now);
}
// The grain of the clocks that lifetimes are measured by: the client's, and the kernel's jiffies,
// which round a timeout up.
uint64_t ClockSlack() {
  timespec grain{};
  clock_getres(CLOCK_MONOTONIC_COARSE, &grain);
  return 3 * Nanoseconds(grain);
}

// Client 0 and client 1; what changes the exported directory itself is kNoClient.
class TwoClientHistory : public MountRun {
 protected:
  using Random = std::mt19937_64;
  static constexpr int kClients = 2;

  std::unique_ptr<Caller> NewClient(const std::string& options) {
    auto parsed = ParseMountUrl(server_->Url(options, GetParam()));
    EXPECT_TRUE(parsed.has_value());
    auto client = Client::Mount(*parsed);
    EXPECT_TRUE(client.has_value());
    return client ? NewClientCaller(std::move(*client)) : nullptr;
  }
  std::unique_ptr<Caller> NewMount(const std::string& options) {
    Mount(options);
    return NewPosixCaller(mount_point());
  }

  void RunHistory(uint64_t lifetime_s) {
    server_caller_ = NewPosixCaller(Backing("").string());
    lifetime_ns_ = lifetime_s * 1'000'000'000 + ClockSlack();
    const uint64_t rounds = std::max<uint64_t>(1, operations_of_test / 3 / kChangesOfRound);
    for (uint64_t round = 0; round < rounds && !HasFailure(); ++round) Round(round);
    clients_ = {};
  }

  std::array<std::unique_ptr<Caller>, kClients> clients_;
  bool is_mount_ = false;  // client 1

 private:
  struct Reader {
    int client = 0;
    Random random;
    std::vector<View> views = {};
    struct StaleCall {
      std::string what, name;
      Interval call;
    };
    std::vector<StaleCall> stale_calls = {};
    std::vector<std::string> faults = {};
  };

  std::string RandomName(Random& random) const {
    return fmt::format("{}{}/n{}", prefix_, random() % 2, random() % kNames);
  }
  static std::string Fact(const char* of, uint64_t fileid) { return fmt::format("{}:{}", of, fileid); }

  void Round(uint64_t round) {
    SCOPED_TRACE(fmt::format("round {}, --seed={}", round, seed_of_binary));
    prefix_ = fmt::format("r{}_d", round);
    history_ = {};
    born_.clear();
    hidden_.clear();
    directories_.clear();
    moved_.clear();
    nameless_.clear();
    last_change_.clear();
    for (int i = 0; i < 2; ++i) Directory(prefix_ + std::to_string(i));
    TakeSnapshot({}, kNoClient, {});
    std::vector<Reader> readers;
    for (int i = 0; i < kClients * kReadersOfClient; ++i) {
      readers.push_back({.client = i % kClients,
                         .random = Random(seed_of_binary + 100 * round + static_cast<uint64_t>(i))});
    }
    changes_ = 0;
    std::vector<std::string> faults;
    {
      std::vector<std::jthread> threads;
      for (Reader& reader : readers) {
        threads.emplace_back([this, &reader] { ReadAll(reader); });
      }
      Random random(seed_of_binary + 100 * round + 99);
      while (changes_ < kChangesOfRound) {
        Change(random, faults);
        ++changes_;
        changes_.notify_all();
      }
    }
    std::vector<View> views = std::move(views_of_changes_);
    views_of_changes_.clear();
    for (Reader& reader : readers) {
      views.insert(views.end(), reader.views.begin(), reader.views.end());
      faults.insert(faults.end(), reader.faults.begin(), reader.faults.end());
      for (const auto& [what, name, call] : reader.stale_calls) {
        // After ESTALE the VFS walks once more, not twice (do_filp_open()), and so does the client,
        // whose second LOOKUP another change may follow; a mount opens what that finds.
        const size_t changes = history_.VersionsDuring(name, call);
        const bool is_of_mount = IsOfMount(reader.client);
        if (changes >= (is_of_mount ? 2 : 1) ||
            (is_of_mount && MayBeMoved(reader.client, name, call))) {
          continue;
        }
        faults.push_back(fmt::format("client {}: {} {}: ESTALE from {} to {} us", reader.client,
                                     what, name, call.begin / 1000, call.end / 1000));
      }
    }
    std::erase_if(views, [this](const View& view) { return !IsChecked(view); });
    std::cout << fmt::format("round {}: {} views\n", round, views.size());
    EXPECT_GT(views.size(), kChangesOfRound);
    for (const std::string& fault : history_.Check(std::move(views))) faults.push_back(fault);
    for (size_t i = 0; i < std::min<size_t>(faults.size(), 5); ++i) ADD_FAILURE() << faults[i];
    EXPECT_EQ(faults.size(), 0u);
  }

  // A file has other attributes while a server makes it, and hidden names count as links. What a
  // client changes of a file by a name that was stale is not seen from outside.
  bool IsChecked(const View& view) const {
    const size_t colon = view.fact.find(':');
    if (colon == std::string::npos) return true;
    const uint64_t fileid = std::strtoull(view.fact.c_str() + colon + 1, nullptr, 10);
    if (view.fact.starts_with("nlink") && hidden_.contains(fileid)) return false;
    // A read beside a change may show part of each, the server's own as well.
    if (view.fact.starts_with("text") && history_.VersionsDuring(view.fact, view.call) != 0) {
      return false;
    }
    if (nameless_.contains(fileid)) return false;
    const auto born = born_.find(fileid);
    return born != born_.end() && view.call.begin > born->second + lifetime_ns_;
  }

  void ReadAll(Reader& reader) {
    for (uint64_t change = 0; change < kChangesOfRound;) {
      for (uint64_t call = 0; call < kCallsBetweenChanges; ++call) ReadOnce(reader);
      // The thread that changes may be far behind or ahead.
      changes_.wait(change);
      change = changes_;
    }
  }

  void ReadOnce(Reader& reader) {
    Caller& caller = *clients_[static_cast<size_t>(reader.client)];
    const std::string name = RandomName(reader.random);
    const uint64_t kind = reader.random() % 10;
    std::vector<View> views;
    const char* what = kind < 7 ? "stat" : kind < 9 ? "read" : "readdir";
    const auto add = [&](const std::string& fact, uint64_t value, uint64_t lifetime_ns) {
      views.push_back({.fact = fact, .value = value, .client = reader.client,
                       .lifetime_ns = lifetime_ns, .what = what});
    };
    int error = 0;
    const uint64_t begin = Now();
    if (kind < 7) {
      FileView view;
      error = caller.Stat(name, view);
      if (error == 0) {
        add(name, view.fileid, lifetime_ns_);
        add(Fact("size", view.fileid), view.size_bytes, lifetime_ns_);
        add(Fact("mode", view.fileid), view.mode, lifetime_ns_);
        add(Fact("nlink", view.fileid), view.nlink, lifetime_ns_);
      }
    } else if (kind < 9) {
      std::string text;
      uint64_t fileid = 0;
      error = caller.Read(name, text, fileid);
      if (error == 0 && fileid != 0) {
        // The OPEN of version 4 names the file; the mount opens by what the kernel has of it.
        const bool asks = GetParam() == 4 && !IsOfMount(reader.client);
        add(name, fileid, asks ? 0 : lifetime_ns_);
        add(Fact("text", fileid), std::hash<std::string>{}(text), 0);
      }
    } else {
      std::map<std::string, uint64_t> names;
      const std::string directory = name.substr(0, name.find('/') + 1);
      error = caller.List(directory, names);
      for (int i = 0; i < kNames && error == 0; ++i) {
        const std::string entry = fmt::format("n{}", i);
        add(directory + entry, names.contains(entry) ? names[entry] : 0, 0);
        views.back().is_listed = true;
        // The kernel keeps a name that a listing lacks until it is told, which waits for the
        // listing's end (NAME-37).
        views.back().is_final = !IsOfMount(reader.client) || views.back().value != 0;
      }
    }
    const Interval call{begin, Now()};
    if (error == ENOENT) add(name, 0, lifetime_ns_);
    if (error == ESTALE) {
      reader.stale_calls.push_back({what, name, call});
    } else if (error != 0 && error != ENOENT && error != EISDIR) {
      reader.faults.push_back(fmt::format("client {}: {} {}: errno {} at {} us", reader.client, what,
                                          name, error, begin / 1000));
    }
    for (View& view : views) {
      view.call = call;
      reader.views.push_back(std::move(view));
    }
  }

  struct Changed {
    int client = kNoClient;
    std::string name = {}, other = {};  // `other`: of a link or a rename
    uint64_t kind = 0;
    bool was_there = false;
    const char* what = "";
    int error = 0;
    Interval call = {};

    bool makes() const { return kind >= 1 && kind <= 3; }
    bool removes() const { return kind == 4 || kind == 5; }
    bool links() const { return kind == 6; }
    bool renames() const { return kind == 7 || kind == 8; }
    bool writes() const { return kind == 9; }
    bool changes_file() const { return kind >= 9; }
  };

  Changed DoOne(Random& random) {
    Changed did{.client = static_cast<int>(random() % 3) - 1};
    Caller& caller = did.client < 0 ? *server_caller_ : *clients_[static_cast<size_t>(did.client)];
    const std::string name = did.name = RandomName(random), other = did.other = RandomName(random);
    const std::string text = fmt::format("{:016}", random() % 1'000'000'000);
    const uint64_t size_bytes = random() % 40;
    const uint32_t mode = 0600 | (random() % 64);
    did.kind = random() % 12;
    did.was_there = history_.Now(name) != 0;
    did.call.begin = Now();
    switch (did.kind) {
      case 0: did.what = "create"; did.error = caller.Create(name, false); break;
      case 1:
      case 2: did.what = "exclusive create"; did.error = caller.Create(name, true); break;
      case 3: did.what = "mkdir"; did.error = caller.MakeDirectory(name); break;
      case 4: did.what = "rmdir"; did.error = caller.RemoveDirectory(name); break;
      case 5: did.what = "unlink"; did.error = caller.Unlink(name); break;
      case 6: did.what = "link"; did.error = caller.Link(name, other); break;
      case 7:
      case 8: did.what = "rename"; did.error = caller.Rename(name, other); break;
      case 9: did.what = "write"; did.error = caller.Write(name, text); break;
      case 10: did.what = "truncate"; did.error = caller.Truncate(name, size_bytes); break;
      default: did.what = "chmod"; did.error = caller.Chmod(name, mode); break;
    }
    did.call.end = Now();
    return did;
  }

  void Change(Random& random, std::vector<std::string>& faults) {
    const Changed did = DoOne(random);
    // The VFS makes no call for a name that leads where the other does (vfs_rename()).
    const bool is_nothing = did.error == 0 && did.renames() && IsOfMount(did.client) &&
                            MayBeOneFile(did.client, did.name, did.other, did.call);
    const std::set<uint64_t> known = FilesOf(did.client, did.name, did.call);
    if (did.client >= 0 && did.renames()) NoteRename(did, known, is_nothing);
    TakeSnapshot(did.call, did.client, {did.name, did.other});
    if (did.client < 0) return;
    bool was_gone = false;
    for (const uint64_t fileid : known) {
      if (!did.changes_file() || history_.Now(Fact("nlink", fileid)) != 0) continue;
      was_gone = true;
      nameless_.insert(fileid);
    }
    Judge(did, is_nothing, was_gone, faults);
    const auto shows = [&](uint64_t fileid) {
      views_of_changes_.push_back({.fact = did.name, .value = fileid, .call = did.call,
                                   .client = did.client, .lifetime_ns = lifetime_ns_,
                                   .what = did.what});
    };
    // The VFS itself refuses to link what the kernel knows to be without a link (vfs_link()).
    if (did.error == ENOENT && !(did.links() && IsOfMount(did.client))) shows(0);
    // A LINK goes by the handle of what the name led to.
    if (did.error == 0 && did.links()) shows(history_.Now(did.other));
  }

  // `known`: what the client may have known of the old name.
  void NoteRename(const Changed& did, const std::set<uint64_t>& known, bool is_nothing) {
    // An open file that is replaced gets a hidden name before (NAME-31). A rename that was refused
    // has told its client nothing of the name.
    if (history_.Now(did.other) != 0) {
      history_.SetTransient(did.other, 0, did.call,
                            did.error == 0 && !is_nothing ? did.client : kNoClient);
    }
    if (did.error != 0 || !IsOfMount(did.client)) return;
    // The kernel moves what it has of the old name (d_move()), until it is told that the file which
    // another client had put there is now under the new one (NAME-19).
    for (const uint64_t fileid : known) {
      history_.SetTransient(did.other, fileid, did.call, kNoClient);
    }
  }

  // `is_nothing`: need not have been done. `was_gone`: the client may have changed a file that has
  // no name.
  void Judge(const Changed& did, bool is_nothing, bool was_gone,
             std::vector<std::string>& faults) const {
    const int error = did.error;
    const std::string text =
        fmt::format("client {}: {} {} ({}): errno {} at {} us, was {}, is {}", did.client, did.what,
                    did.name, did.other, error, did.call.begin / 1000, did.was_there,
                    history_.Now(did.name));
    const bool is_ours = !IsOfMount(did.client);  // of the kernel's caches there are others
    if ((error == 0 && did.makes() && did.was_there) ||
        (error == 0 && did.removes() && history_.Now(did.name) != 0) ||
        (error == 0 && (did.removes() || did.renames()) && !did.was_there && !is_nothing) ||
        (error == EEXIST && did.makes() && is_ours && !did.was_there)) {
      faults.push_back("no such outcome: " + text);
    }
    const bool is_moved = IsOfMount(did.client) && (MayBeMoved(did.client, did.name, did.call) ||
                                                    MayBeMoved(did.client, did.other, did.call));
    // A file that was opened by a stale name may be gone when it is written.
    if (error == ESTALE && (is_moved || (was_gone && did.writes()))) return;
    static const std::set<int> kErrors{0, ENOENT, EEXIST, EISDIR, ENOTDIR, ENOTEMPTY, EPERM, EINVAL};
    if (!kErrors.contains(error)) faults.push_back("no such error: " + text);
  }

  bool IsOfMount(int client) const { return is_mount_ && client == 1; }
  // The files that the client may have under the name when the call begins, or find there.
  std::set<uint64_t> FilesOf(int client, const std::string& name, Interval call) const {
    return history_.Showable(
        {.fact = name, .call = call, .client = client, .lifetime_ns = lifetime_ns_});
  }
  bool MayBeOneFile(int client, const std::string& name, const std::string& other,
                    Interval call) const {
    const std::set<uint64_t> files = FilesOf(client, name, call),
                             others = FilesOf(client, other, call);
    return name == other ||
           std::ranges::any_of(files, [&](uint64_t file) { return others.contains(file); });
  }
  // The kernel has one name of a directory. A LOOKUP that finds it under another takes the locks of
  // a rename, and fails with ESTALE where a call has them, that of the LOOKUP included
  // (d_splice_alias()).
  bool MayBeMoved(int client, const std::string& name, Interval call) const {
    return std::ranges::any_of(FilesOf(client, name, call),
                               [&](uint64_t file) { return moved_.contains(file); });
  }

  // Adds what the change has made of the export to the history. Returns once the next change has
  // another time, however coarse the server's clock is: otherwise clients could not see it.
  void TakeSnapshot(Interval call, int client, const std::set<std::string>& names) {
    // A client that acts by a stale name need not know which file it changes.
    const bool knows = std::ranges::all_of(names, [&](const std::string& name) {
      const auto last = last_change_.find(name);
      return last == last_change_.end() || last->second.first == client ||
             last->second.second + lifetime_ns_ < call.begin;
    });
    const int by = knows ? client : kNoClient;
    std::map<uint64_t, FileView> files;
    bool has_hidden = true;
    for (bool is_first = true; has_hidden; is_first = false) {
      has_hidden = false;
      for (int i = 0; i < 2; ++i) {
        const std::string directory = fmt::format("{}{}/", prefix_, i);
        std::map<std::string, uint64_t> entries;
        server_caller_->List(directory, entries);
        for (const auto& [entry, fileid] : entries) {
          if (entry.starts_with(".nfs")) {
            has_hidden = true;
            hidden_.insert(fileid);
          }
          if (is_first && entry[0] == 'n') server_caller_->Stat(directory + entry, files[fileid]);
        }
        for (int k = 0; k < kNames && is_first; ++k) {
          const std::string entry = fmt::format("n{}", k), name = directory + entry;
          const uint64_t fileid = entries.contains(entry) ? entries[entry] : 0;
          if (history_.Now(name) != fileid) last_change_[name] = {client, call.end};
          history_.Set(name, fileid, call, client);
          if (fileid != 0 && files[fileid].is_directory) {
            const auto known = directories_.try_emplace(fileid, name).first;
            if (known->second != name) moved_.insert(fileid);
          }
          std::string text;
          uint64_t opened = 0;
          if (fileid != 0 && server_caller_->Read(name, text, opened) == 0) {
            history_.Set(Fact("text", fileid), std::hash<std::string>{}(text), call, by);
          }
        }
      }
      if (has_hidden) std::this_thread::yield();  // until the readers have closed it
    }
    for (const auto& [fileid, view] : files) {
      born_.try_emplace(fileid, call.end);
      history_.Set(Fact("size", fileid), view.size_bytes, call, by);
      history_.Set(Fact("mode", fileid), view.mode, call, by);
      history_.Set(Fact("nlink", fileid), view.nlink, call, by);
    }
    for (const auto& [fileid, end] : born_) {
      if (!files.contains(fileid)) history_.Set(Fact("nlink", fileid), 0, call, by);
    }
    for (const uint64_t now = Now(CLOCK_REALTIME_COARSE); Now(CLOCK_REALTIME_COARSE) == now;) {
      std::this_thread::yield();
    }
  }

  std::unique_ptr<Caller> server_caller_;
  uint64_t lifetime_ns_ = 0;
  std::string prefix_;
  // Used only by the thread that makes changes, until the readers have ended.
  ViewHistory history_;
  std::map<uint64_t, uint64_t> born_;  // by file id: when it had been made
  std::set<uint64_t> hidden_;          // had a hidden name
  std::map<uint64_t, std::string> directories_;  // with the first name of each
  std::set<uint64_t> moved_;                     // of these: had another name
  std::set<uint64_t> nameless_;                  // was changed behind its last name, or may have been
  std::map<std::string, std::pair<int, uint64_t>> last_change_;  // of a name: by whom, and when
  std::vector<View> views_of_changes_;
  std::atomic<uint64_t> changes_{0};
};

TEST_P(TwoClientHistory, LibraryIsCoherent) {
  clients_ = {NewClient("actimeo=1"), NewClient("actimeo=1")};
  RunHistory(1);
}

TEST_P(TwoClientHistory, LibraryWithLongLifetimesIsCoherent) {
  clients_ = {NewClient("actimeo=600"), NewClient("actimeo=600")};
  RunHistory(600);
}

TEST_P(TwoClientHistory, LibraryAndMountAreCoherent) {
  clients_ = {NewClient("actimeo=1"), NewMount("actimeo=1")};
  is_mount_ = true;
  RunHistory(1);
}

INSTANTIATE_TEST_SUITE_P(Versions, TwoClientHistory, fixtures::AllVersions(),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk::stress

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--operations=")) {
      nfswalk::stress::operations_of_test = std::strtoull(argv[i] + 13, nullptr, 10);
    } else if (argument.starts_with("--seed=")) {
      nfswalk::stress::seed_of_binary = std::strtoull(argv[i] + 7, nullptr, 10);
    } else {
      std::cerr << "unknown argument " << argument << ": --operations=N, --seed=N" << std::endl;
      return 2;
    }
  }
  std::cout << "--seed=" << nfswalk::stress::seed_of_binary
            << " --operations=" << nfswalk::stress::operations_of_test << std::endl;
  return RUN_ALL_TESTS();
}
