// random_world: a small tree on a server, a client of it, and random events on both, drawn from a
// seed.
#ifndef NFSWALK_TESTS_EXITS_RANDOM_WORLD_H_
#define NFSWALK_TESTS_EXITS_RANDOM_WORLD_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "access_cache/access_list.h"
#include "nfsclient/client.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/superblock/superblock.h"
#include "rcu/allocation_fault.h"
#include "rcu/mix64.h"
#include "tests/exits/frozen_question.h"
#include "tests/exits/steered_clock.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/faulty_protocol.h"
#include "tests/fixtures/memory_server.h"

namespace nfswalk::exits {

// SplitMix64.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t Next() { return state_ = rcu::Mix64(state_, 1); }
  size_t Below(size_t n) { return static_cast<size_t>(Next() % n); }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <class Container>
  const auto& Of(const Container& container) {
    return container[Below(std::size(container))];
  }

 private:
  uint64_t state_;
};

// Thread safety: none; the steered clock is process-wide.
class RandomWorld {
 public:
  // Draws options, tree and rights.
  explicit RandomWorld(uint64_t seed)
      : dice_(seed), options_(DrawOptions(dice_)), people_{{0, 0},         {1, 1}, {1, 1, {7, 8}},
                                                           {1, 1, {8, 7}}, {2, 1}, {}} {
    SteeredClock::Set(1'000'000 * kSecond);
    auto server = std::make_unique<fixtures::MemoryServer>();
    server_ = server.get();
    if (dice_.OneIn(4)) server_->AnswerWholePaths();
    server_->GrantBy([this](const Attributes& file, const Credential& credential) {
      return RightsOf(file.fileid, credential);
    });
    rights_seed_ = dice_.Next();
    Grow();
    auto protocol = std::make_unique<fixtures::FaultyProtocol>(std::move(server));
    protocol_ = protocol.get();
    protocol_->KeepLog();
    client_ = std::move(*Client::MountOver(std::move(protocol), options_));
    if (dice_.OneIn(12)) {
      for (uint32_t uid = 100; uid < 100 + kCrowd; ++uid) people_.push_back({uid, 1});
    }
  }

  // One of: time passes; another client changes the tree, modes or rights; the client looks up,
  // lists, changes; parts of its caches are invalidated, dropped or evicted; the server fails
  // calls.
  void Step() {
    switch (dice_.Below(16)) {
      case 0:
      case 1:
        return PassTime();
      case 2:
      case 3:
        return ChangeTheServer();
      case 4:
        return ChangeByClient();
      case 5:
        return DisturbCaches();
      default:
        return Use();
    }
  }

  Question DrawQuestion() {
    Question question;
    // Prefers earlier questions, whose answers may be cached.
    if (!asked_.empty() && dice_.OneIn(2)) {
      question = dice_.Of(asked_);
      if (dice_.OneIn(4)) question.credential = dice_.Of(people_);
      if (dice_.OneIn(4)) question.flags.strict = !question.flags.strict;
      return question;
    }
    question.kind = dice_.Of(std::array{Question::kStat, Question::kAccess, Question::kReadLink});
    if (dice_.OneIn(8)) question.kind = Question::kParent;
    // Fewer READLINKs of what is not a link.
    if (question.kind == Question::kReadLink && dice_.OneIn(2)) question.kind = Question::kStat;
    question.path = DrawPath();
    if (question.kind == Question::kReadLink && !names_.empty()) {
      const auto some = std::next(names_.begin(), long(dice_.Below(names_.size())));
      const auto link = std::find_if(some, names_.end(), [this](const auto& name) {
        return std::ranges::count(links_, name.second) != 0;
      });
      if (link != names_.end()) question.path = PathOf(link->first);
    }
    question.credential = dice_.OneIn(100) ? Credential(9, 9) : dice_.Of(people_);
    if (question.kind == Question::kAccess) question.mode = static_cast<uint32_t>(dice_.Below(8));
    question.flags.no_follow = dice_.OneIn(4);
    question.flags.no_symlinks = dice_.OneIn(8);
    question.flags.beneath = dice_.OneIn(8);
    question.flags.in_root = !question.flags.beneath && dice_.OneIn(8);
    question.flags.strict = dice_.OneIn(8);
    constexpr size_t kRemembered = 8;
    if (asked_.size() == kRemembered) asked_.erase(asked_.begin());
    asked_.push_back(question);
    return question;
  }

  // Returns the mount's options.
  std::string Describe() const {
    auto seconds = [](uint32_t s) { return std::to_string(s) + " "; };
    return std::string(WalkModeName(options_.walk)) +
           (options_.contract == WalkContract::kStrict ? " strict" : "") + " lookupcache " +
           std::to_string(static_cast<int>(options_.lookupcache)) + " ac " +
           seconds(options_.acregmin_s) + seconds(options_.acregmax_s) +
           seconds(options_.acdirmin_s) + seconds(options_.acdirmax_s) + "limits " +
           std::to_string(*options_.dentries_max) + " " +
           std::to_string(*options_.access_entries_max) + " " +
           std::to_string(options_.credentials_max);
  }

  bool IsStrict(const Question& question) const {
    return question.flags.strict || options_.contract == WalkContract::kStrict;
  }
  Client& client() const { return *client_; }
  fixtures::FaultyProtocol& protocol() { return *protocol_; }

 private:
  static constexpr std::array kNames = {"a", "b", "c", "d", "e"};
  static constexpr std::array<uint64_t, 9> kTimes = {
      1,           kSecond - 1,  kSecond,      3 * kSecond - 1, 3 * kSecond,
      5 * kSecond, 29 * kSecond, 31 * kSecond, 61 * kSecond};
  // More than a search without the lock looks at.
  static constexpr uint32_t kCrowd = access_cache::AccessList::kSearchStepsMax + 6;
  static constexpr uint64_t kRoot = fixtures::MemoryServer::kRoot;
  using FileType = protocol::FileType;
  using Place = std::pair<uint64_t, std::string>;  // a directory and a name in it

  static MountOptions DrawOptions(Dice& dice) {
    MountOptions options;
    options.rdirplus = false;  // listings ahead, at times of their own
    options.walk =
        dice.Of(std::array{WalkMode::kRcuLocked, WalkMode::kRcuPeek, WalkMode::kRcuSearch});
    if (dice.OneIn(6)) options.contract = WalkContract::kStrict;
    if (dice.OneIn(8)) options.lookupcache = LookupCache::kPositive;
    if (dice.OneIn(16)) options.lookupcache = LookupCache::kNone;
    if (dice.OneIn(16)) {  // noac
      options.acregmin_s = options.acregmax_s = options.acdirmin_s = options.acdirmax_s = 0;
    } else if (dice.OneIn(3)) {  // actimeo
      options.acregmin_s = options.acregmax_s = options.acdirmin_s = options.acdirmax_s =
          static_cast<uint32_t>(1 + dice.Below(600));
    }
    options.path_cache = !dice.OneIn(8);
    // Small tables keep a mount cheap. Some mounts reclaim all the time.
    options.inodes_max = 1024;
    options.dentries_max = dice.OneIn(6) ? 8 + dice.Below(8) : 1024;
    options.access_entries_max = dice.OneIn(6) ? 1 + dice.Below(8) : 1024;
    options.credentials_max = dice.OneIn(8) ? 2 : 64;
    return options;
  }

  void Grow() {
    const size_t things = 6 + dice_.Below(20);
    for (size_t i = 0; i < things; ++i) Add();
  }

  // Grants most rights, so that most of the tree can be reached.
  uint32_t RightsOf(uint64_t file, const Credential& credential) const {
    const uint64_t random = rcu::Mix64(rcu::Mix64(rights_seed_, file), credential.hash());
    if (file == kRoot && random % 16 != 0) return protocol::kAccessAll;
    return random % 4 != 0 ? protocol::kAccessAll : static_cast<uint32_t>(random >> 32) & 0x3f;
  }

  // Prefers names that existed: others rarely lead to a file.
  std::string DrawPath() {
    std::string path;
    const size_t how = dice_.Below(4);
    if (how == 0) {
      path = DrawPlainPath();
    } else if (how == 1 && !names_.empty()) {
      path = PathOf(std::next(names_.begin(), long(dice_.Below(names_.size())))->first);
    } else {
      uint64_t at = kRoot;
      for (size_t left = 1 + dice_.Below(5); left > 0; --left) {
        std::vector<const Place*> here;
        auto end = names_.lower_bound({at + 1, ""});
        for (auto it = names_.lower_bound({at, ""}); it != end; ++it) here.push_back(&it->first);
        const std::string name =
            here.empty() || dice_.OneIn(8) ? dice_.Of(kNames) : dice_.Of(here)->second;
        if (!path.empty()) path += '/';
        path += name;
        const auto next = names_.find({at, name});
        at = next == names_.end() ? at : next->second;
      }
    }
    switch (dice_.Below(24)) {
      case 0:
        return "/" + path;
      case 1:
        return path + "/";
      case 2:
        return path + "/.";
      case 3:
        return path + "/..";
      case 4:
        return "//" + path + "//";
      case 5:
        return "./" + path + "/../" + dice_.Of(kNames);
      case 6:
        return "../" + path;
      case 7:
        return dice_.Of(std::array{"", "/", ".", "..", "...", "./..//."});
      case 8:
        return path + "/" + std::string(dice_.OneIn(2) ? 255 : 256, 'x');
      case 9:
        return dice_.OneIn(8) ? std::string(4090 + dice_.Below(8), '/') : path;
      case 10:
        return dice_.OneIn(8) ? path + std::string(1, '\0') + "a" : path + "/" + path;
      default:
        return path;
    }
  }

  std::string DrawPlainPath() {
    std::string path = dice_.OneIn(5) ? "/" : "";
    const size_t names = 1 + dice_.Below(4);
    for (size_t i = 0; i < names; ++i) {
      if (i != 0) path += '/';
      path += dice_.OneIn(8) ? ".." : dice_.Of(kNames);
    }
    return path;
  }

  // The path from the root, "a/b".
  std::string PathOf(const Place& place) const {
    if (place.first == kRoot) return place.second;
    const uint64_t above = parents_.at(place.first);
    for (auto it = names_.lower_bound({above, ""}); it != names_.end(); ++it) {
      if (it->second == place.first) return PathOf(it->first) + "/" + place.second;
    }
    return place.second;
  }

  void Add() {
    const uint64_t directory = dice_.Of(directories_);
    const Place place{directory, dice_.Of(kNames)};
    if (names_.contains(place)) return;
    const size_t kind = dice_.Below(10);
    uint64_t file;
    if (kind < 4) {
      file = server_->Add(directory, place.second, FileType::kDirectory);
      directories_.push_back(file);
      parents_[file] = directory;
    } else if (kind < 6) {
      file = server_->Add(directory, place.second, FileType::kSymlink,
                          dice_.OneIn(20) ? "" : DrawPlainPath());
      links_.push_back(file);
    } else {
      file = server_->Add(directory, place.second, FileType::kRegular);
      if (dice_.OneIn(2)) server_->Edit(file, [](auto& attributes) { attributes.mode = 0644; });
    }
    files_.push_back(file);
    names_[place] = file;
  }

  // Only the path cache relies on a clock that never goes back.
  void PassTime() {
    if (!options_.path_cache && dice_.OneIn(8)) {
      SteeredClock::Set(SteeredClock::Now() - dice_.Of(kTimes));
    } else {
      SteeredClock::Pass(dice_.Of(kTimes));
    }
  }

  void ChangeTheServer() {
    switch (dice_.Below(6)) {
      case 0:
        return Add();
      case 1:
        return MoveSomething();
      case 2:
        if (!links_.empty()) server_->SetTarget(dice_.Of(links_), DrawPlainPath());
        return;
      case 3: {  // with the ctime that a chmod sets
        rights_seed_ = dice_.Next();
        for (uint64_t file : files_) server_->Edit(file, [](auto&) {});
        return;
      }
      default:
        return EditSomething();
    }
  }

  void MoveSomething() {
    if (names_.empty()) return;
    const auto [place, file] = *std::next(names_.begin(), long(dice_.Below(names_.size())));
    if (parents_.contains(file) ? dice_.OneIn(2) : dice_.OneIn(3)) {
      const uint64_t to = dice_.Of(directories_);
      if (names_.contains({to, place.second})) return;
      if (parents_.contains(file)) {
        if (IsBelow(to, file)) return;
        parents_[file] = to;
      }
      server_->Move(place.first, to, place.second);
      names_[{to, place.second}] = file;
    } else {
      if (parents_.contains(file)) return;  // would orphan its children
      server_->Take(place.first, place.second);
      server_->Edit(file, [](auto& attributes) { attributes.nlink = 0; });
    }
    names_.erase(place);
  }

  void EditSomething() {
    const uint64_t file = files_.empty() ? kRoot : dice_.Of(files_);
    const uint32_t mode = dice_.Of(std::array{0755u, 0644u, 0600u, 0711u, 01777u});
    const auto uid = static_cast<uint32_t>(dice_.Below(3));
    server_->Edit(
        file,
        [&](auto& attributes) {
          attributes.mode = mode;
          attributes.uid = uid;
        },
        dice_.OneIn(2));
    if (dice_.OneIn(200)) server_->ConfuseNextGetattr(777);
  }

  // Fills the caches along the paths of later questions.
  void Use() {
    // An object that cannot be allocated is an answer that is not cached.
    if (dice_.OneIn(16)) rcu::AllocationFault::FailOnceAfter(int64_t(dice_.Below(8)));
    if (people_.size() > kCrowd && dice_.OneIn(32)) {
      const std::string path = DrawPath();
      for (const Credential& who : people_) (void)client_->Access(path, kMayExecute, who);
    }
    for (size_t i = 1 + dice_.Below(3); i > 0; --i) {
      Question question = DrawQuestion();
      (void)(dice_.OneIn(4) ? AskRef(*client_, question) : Ask(*client_, question));
      // As often as needed for a prefix to be recorded.
      if (dice_.OneIn(3)) {
        for (int again = 0; again < 3; ++again) (void)Ask(*client_, question);
      }
    }
    if (dice_.OneIn(8)) {
      (void)client_->ReadDir(DrawPath(), dice_.Of(people_), [](const auto&) { return true; });
    }
    rcu::AllocationFault::Clear();
  }

  // Not mirrored in the model, which thus draws some names that are gone.
  void ChangeByClient() {
    const Credential& who = dice_.Of(people_);
    const std::string name = "x" + std::string(dice_.Of(kNames));
    switch (dice_.Below(4)) {
      case 0:
        (void)client_->Create(name, 0644, true, who);
        return;
      case 1:
        (void)client_->Unlink(name, who);
        return;
      case 2:
        (void)client_->MakeSymlink(DrawPlainPath(), name, who);
        return;
      default:
        (void)client_->Rename(name, "x" + std::string(dice_.Of(kNames)), who);
        return;
    }
  }

  // By the client's own functions alone: they must tell the path cache.
  void DisturbCaches() {
    nfs::Superblock& superblock = ClientInternals::SuperblockOf(*client_);
    const size_t what = dice_.Below(8);
    if (what == 0) return client_->InvalidateCaches();
    if (what == 1) return client_->DropCaches();
    if (what == 2) return void(superblock.dentries.Prune(1 + dice_.Below(10)));
    if (what == 3) return void(superblock.access_lru.Shrink(1 + dice_.Below(10)));
    superblock.inodes->IterInodes({}, [&](icache::Inode& inode) {
      if (!dice_.OneIn(3)) return icache::IterStep::kNext;
      if (what < 6) nfs::InvalidateAttributes(superblock, inode);
      if (what == 6 && dice_.OneIn(3)) nfs::MarkStale(superblock, inode);
      if (what == 7) {  // a reply that shows another mode
        Attributes attributes;
        nfs::CopyAttributes(inode, attributes);
        attributes.mode ^= 0001;
        (void)nfs::UpdateAttributes(superblock, inode, attributes, nfs::Stamp(superblock));
      }
      return icache::IterStep::kNext;
    });
  }

  bool IsBelow(uint64_t directory, uint64_t ancestor) const {
    for (uint64_t at = directory; at != kRoot; at = parents_.at(at)) {
      if (at == ancestor) return true;
    }
    return false;
  }

  Dice dice_;
  MountOptions options_;
  fixtures::MemoryServer* server_ = nullptr;
  fixtures::FaultyProtocol* protocol_ = nullptr;  // in front of the server
  std::unique_ptr<Client> client_;
  std::vector<Credential> people_;
  // As on the server, but for what the client itself has changed.
  std::vector<uint64_t> directories_{fixtures::MemoryServer::kRoot};
  std::vector<uint64_t> links_;
  std::vector<uint64_t> files_;  // files of all three types
  std::map<Place, uint64_t> names_;
  std::map<uint64_t, uint64_t> parents_;  // of directories
  uint64_t rights_seed_ = 0;
  std::vector<Question> asked_;
};

}  // namespace nfswalk::exits

#endif  // NFSWALK_TESTS_EXITS_RANDOM_WORLD_H_
