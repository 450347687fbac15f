#include "tests/stress/oracle_load.h"

#include <algorithm>
#include <set>
#include <span>
#include <thread>
#include <utility>

namespace nfswalk::stress {

namespace {

using Random = std::mt19937_64;

// Long names are stored outside of the dentry; a rename may change between short and long.
constexpr std::string_view kTops[] = {"a", "b", "c"};
constexpr std::string_view kMiddles[] = {
    "d", "a-name-of-more-than-sixteen-bytes",
    "a-name-that-does-not-fit-into-the-dentry-and-is-therefore-kept-outside-of-it"};
constexpr std::string_view kLeaves[] = {
    "f", "g-seventeen-bytes", "h-which-is-a-name-that-does-not-fit-into-the-dentry-either-I-hope"};
constexpr std::string_view kLinks[] = {"l", "m"};
constexpr std::string_view kTargets[] = {
    "d", "../a/d", "/b/d", "../c", "a-name-of-more-than-sixteen-bytes", "./../b/d/."};

size_t Below(Random& random, size_t limit) { return random() % limit; }
template <size_t n>
std::string Any(Random& random, const std::string_view (&names)[n]) {
  return std::string(names[Below(random, n)]);
}
bool OneIn(Random& random, size_t n) { return Below(random, n) == 0; }

std::string Top(Random& random) { return Any(random, kTops); }
std::string Middle(Random& random) { return Any(random, kTops) + "/" + Any(random, kMiddles); }
std::string Leaf(Random& random) {
  return OneIn(random, 5) ? Top(random) + "/" + Any(random, kLeaves)
                          : Middle(random) + "/" + Any(random, kLeaves);
}
std::string LinkPath(Random& random) { return Top(random) + "/" + Any(random, kLinks); }
std::string Directory(Random& random) { return OneIn(random, 4) ? Top(random) : Middle(random); }
std::string Anything(Random& random) {
  switch (Below(random, 4)) {
    case 0:
      return Top(random);
    case 1:
      return Middle(random);
    case 2:
      return LinkPath(random);
    default:
      return Leaf(random);
  }
}
// Returns the path with its last name replaced.
std::string Beside(const std::string& path, std::string_view name) {
  return path.substr(0, path.rfind('/') + 1) + std::string(name);
}

}  // namespace

void Tally::Add(const Tally& other) {
  for (uint64_t Tally::* count :
       {&Tally::walks, &Tally::cached, &Tally::path_hits, &Tally::strict, &Tally::found,
        &Tally::absent, &Tally::denied, &Tally::not_directory, &Tally::torn, &Tally::loose,
        &Tally::undecided, &Tally::try_again, &Tally::stale, &Tally::changes}) {
    this->*count += other.*count;
  }
}

void OracleLoad::YieldSometimes() {
  thread_local std::minstd_rand random{std::random_device{}()};
  if (random() % 32 == 0) std::this_thread::yield();
}

OracleLoad::OracleLoad(Options options) : options_(std::move(options)) {
  auto server = std::make_unique<OracleServer>(
      clock_, OracleServer::Options{.on_reply = YieldSometimes, .delegates = options_.delegated});
  server_ = server.get();
  MountOptions mount = options_.mount;
  mount.acregmin_s = mount.acregmax_s = mount.acdirmin_s = mount.acdirmax_s = 100'000;
  mount.delegations = options_.delegated;
  if (options_.delegated) {
    mount.acregmin_s = mount.acregmax_s = mount.acdirmin_s = 0;
    mount.delegation_pause_s = 0;
  }
  client_ = std::move(*Client::MountOver(std::move(server), mount));
  for (size_t i = 0; i < kThreads; ++i) {
    workers_[i].index = i;
    workers_[i].random.seed(options_.seed * kThreads + i);
  }
  Prepare();
}

void OracleLoad::Prepare() {
  for (std::string_view top : kTops) {
    MakeChange([&] { (void)client_->MakeDirectory(top, 0755, superuser_); });
    for (std::string_view middle : kMiddles) {
      const std::string directory = std::string(top) + "/" + std::string(middle);
      MakeChange([&] { (void)client_->MakeDirectory(directory, 0755, superuser_); });
      for (std::string_view leaf : kLeaves) {
        const std::string file = directory + "/" + std::string(leaf);
        MakeChange([&] { (void)client_->Create(file, 0644, true, superuser_); });
      }
    }
  }
  for (int i = 0; i < 6; ++i) FlipLink(workers_[0].random, 0);
  server_->history().Forget();
}

void OracleLoad::Round(size_t walks) {
  walks_left_ = static_cast<int64_t>(walks);
  const auto with_all = [this](auto&& act) {
    std::vector<std::thread> threads;
    for (Worker& worker : workers_) threads.emplace_back([&] { act(worker); });
    for (std::thread& thread : threads) thread.join();
  };
  with_all([this](Worker& worker) { Work(worker); });
  server_->history().Seal();
  with_all([this](Worker& worker) { CheckLog(worker); });
  for (Worker& worker : workers_) tally_.Add(std::exchange(worker.tally, {}));
  tally_.changes += server_->history().changes().size();
  CompareTrees();
  server_->history().Forget();
}

void OracleLoad::Work(Worker& worker) {
  while (walks_left_.load() > 0) {
    if (worker.index < kWriters && OneIn(worker.random, options_.delegated ? 16
                                                        : options_.calm    ? 64
                                                                           : 2)) {
      MakeRandomChange(worker);
    } else {
      RunRandomOperation(worker);
    }
  }
}

void OracleLoad::Violation(std::string_view what, const std::string& detail) {
  constexpr size_t kViolationsMax = 20;
  std::lock_guard lock(violations_mutex_);
  if (violations_.size() < kViolationsMax) violations_.push_back(std::string(what) + ": " + detail);
}

// --- walks ---

Operation OracleLoad::RandomOperation(Random& random) const {
  Operation operation;
  operation.superuser = OneIn(random, 4);
  operation.follow = !OneIn(random, 5);
  switch (Below(random, 16)) {
    case 0:
      operation.path = Top(random);
      break;
    case 1:
    case 2:
      operation.path = Middle(random);
      break;
    case 3:
    case 4:
      operation.path = LinkPath(random) + "/" + Any(random, kLeaves);
      break;
    case 5:
      operation.path = Middle(random) + "/../" + Any(random, kMiddles) + "/" + Any(random, kLeaves);
      break;
    case 6:
      operation.path = Middle(random) + "/../../" + Leaf(random);
      break;
    case 7:
      operation.path = LinkPath(random) + "/../" + Any(random, kMiddles) + "/./";
      break;
    case 8:
      operation.path = Leaf(random) + (OneIn(random, 2) ? "/" : "/..");
      break;
    case 9:
    case 10:
      operation.path = LinkPath(random);
      break;
    default:
      operation.path = Leaf(random);
      break;
  }
  if (OneIn(random, 8)) operation.path.insert(0, "/");
  const size_t kind = Below(random, 8);
  if (kind == 0) {
    operation.kind = Operation::Kind::kAccess;
    operation.mask = static_cast<uint32_t>(Below(random, 4)) << 1;
  } else if (kind <= 2 && operation.path.find('l') != operation.path.npos) {
    operation.kind = Operation::Kind::kReadLink;
  } else if (kind <= 4 && options_.delegated) {
    operation.kind = Operation::Kind::kOpen;
    operation.follow = true;
  }
  return operation;
}

Operation OracleLoad::CalmOperation(Worker& worker) const {
  Random& random = worker.random;
  Operation operation = RandomOperation(random);
  if (worker.directory.empty() || OneIn(random, 32)) worker.directory = Middle(random);
  if (!OneIn(random, 8)) operation.path = worker.directory + "/" + Any(random, kLeaves);
  return operation;
}

Outcome OracleLoad::Run(const Operation& operation, ResolveFlags flags) {
  const Credential& who = operation.superuser ? superuser_ : visitor_;
  flags.no_follow = !operation.follow;
  Outcome outcome;
  switch (operation.kind) {
    case Operation::Kind::kStat: {
      auto attributes = client_->Stat(operation.path, who, flags);
      if (attributes) {
        outcome.attributes = *attributes;
      } else {
        outcome.error = attributes.error();
      }
      break;
    }
    case Operation::Kind::kAccess:
      outcome.error = client_->Access(operation.path, operation.mask, who, flags);
      break;
    case Operation::Kind::kReadLink: {
      std::array<char, 256> text;
      auto size = client_->ReadLink(operation.path, text, who, flags);
      if (size) {
        outcome.text.assign(text.data(), *size);
      } else {
        outcome.error = size.error();
      }
      break;
    }
    case Operation::Kind::kOpen: {
      const auto file = client_->Open(operation.path, kMayRead, who, flags);
      if (!file) outcome.error = file.error();
      break;
    }
  }
  return outcome;
}

void OracleLoad::RunRandomOperation(Worker& worker) {
  Record record{
      .walk = {.operation = options_.calm ? CalmOperation(worker) : RandomOperation(worker.random)},
      .guarantee = Guarantee::kSteps};
  ResolveFlags flags;
  // RCU-walk alone is kHandOverHand; ref-walk, which opens may need, is neither that nor kStrict.
  if (options_.mount.walk != WalkMode::kRef &&
      record.walk.operation.kind != Operation::Kind::kOpen) {
    // Strict walks do not use the path cache.
    flags.strict = OneIn(worker.random, options_.calm ? 8 : 2);
    flags.cached = OneIn(worker.random, 2);
    record.guarantee = flags.strict   ? Guarantee::kStrict
                       : flags.cached ? Guarantee::kHandOverHand
                                      : Guarantee::kSteps;
  }
  record.walk.begin = clock_.Now();
  record.walk.outcome = Run(record.walk.operation, flags);
  record.walk.end = clock_.Now();
  if (record.walk.outcome.error == std::errc::resource_unavailable_try_again) {
    ++worker.tally.try_again;
    return;
  }
  if (record.walk.outcome.error != std::errc{}) worker.directory.clear();
  --walks_left_;
  worker.log.push_back(std::move(record));
}

// --- changes ---

template <class Call>
void OracleLoad::MakeChange(Call&& call) {
  (void)OracleServer::TakeChange();
  call();
  if (Change* change = OracleServer::TakeChange()) change->returned = clock_.Now();
}

// Exchanges two names by way of a third: NFS has no RENAME_EXCHANGE.
void OracleLoad::Exchange(Random& random, size_t index) {
  const bool tops = OneIn(random, 3);
  const std::string one = tops ? Top(random) : Middle(random);
  const std::string other = tops ? Top(random) : Middle(random);
  const std::string third = Beside(one, "third" + std::to_string(index));
  MakeChange([&] { (void)client_->Rename(one, third, superuser_); });
  MakeChange([&] { (void)client_->Rename(other, one, superuser_); });
  MakeChange([&] { (void)client_->Rename(third, other, superuser_); });
  // Cleans up after lost races.
  MakeChange([&] { (void)client_->Rename(third, one, superuser_); });
}

// Points a link to another directory: by a rename over it, or by removal and creation.
void OracleLoad::FlipLink(Random& random, size_t index) {
  const std::string link = OneIn(random, 6) ? Leaf(random) : LinkPath(random);
  const std::string target = Any(random, kTargets);
  if (OneIn(random, 2)) {
    const std::string fresh = Beside(link, "fresh" + std::to_string(index));
    MakeChange([&] { (void)client_->MakeSymlink(target, fresh, superuser_); });
    MakeChange([&] { (void)client_->Rename(fresh, link, superuser_); });
    MakeChange([&] { (void)client_->Unlink(fresh, superuser_); });
  } else {
    MakeChange([&] { (void)client_->Unlink(link, superuser_); });
    MakeChange([&] { (void)client_->MakeSymlink(target, link, superuser_); });
  }
}

SetAttributes OracleLoad::RandomAttributesOfFile(Random& random) {
  SetAttributes wanted;
  if (OneIn(random, 2)) {
    wanted.mode = OneIn(random, 2) ? 0644 : 0640;
  } else {
    wanted.size_bytes = Below(random, 1000);
  }
  return wanted;
}

void OracleLoad::ChangeAttributes(Random& random) {
  SetAttributes wanted;
  std::string path;
  if (OneIn(random, 3)) {
    path = Leaf(random);
    wanted = RandomAttributesOfFile(random);
  } else {
    path = Directory(random);
    wanted.mode = OneIn(random, 3) ? 0700 : 0755;
  }
  MakeChange(
      [&] { (void)client_->SetAttributesOf(path, wanted, superuser_, {.no_follow = true}); });
}

void OracleLoad::MakeRandomChange(Worker& worker) {
  Random& random = worker.random;
  if (OneIn(random, 400)) client_->DropCaches();
  if (OneIn(random, 400)) client_->InvalidateCaches();
  if (options_.delegated && OneIn(random, 4)) server_->EndIdle();
  if (options_.delegated && !OneIn(random, 4)) {
    const std::string near = worker.directory.empty() ? Middle(random) : worker.directory;
    if (OneIn(random, 3)) {
      return server_->RenameByOther(near, Any(random, kLeaves), Any(random, kLeaves));
    }
    return server_->ChangeByOther(near + "/" + Any(random, kLeaves),
                                  RandomAttributesOfFile(random));
  }
  std::string path, other;
  switch (Below(random, 16)) {
    case 0:
    case 1:
      return MakeChange([&] { (void)client_->Create(Leaf(random), 0644, true, superuser_); });
    case 2:
      return MakeChange([&] { (void)client_->Unlink(Leaf(random), superuser_); });
    case 3:
      return MakeChange([&] { (void)client_->MakeDirectory(Directory(random), 0755, superuser_); });
    case 4:
      path = OneIn(random, 8) ? Leaf(random) : Directory(random);
      return MakeChange([&] { (void)client_->MakeDirectory(path, 0755, superuser_); });
    case 5:
      path = Directory(random);
      return MakeChange([&] { (void)client_->RemoveDirectory(path, superuser_); });
    case 6:
    case 7:
      return FlipLink(random, worker.index);
    case 8:
    case 9:
      return Exchange(random, worker.index);
    case 10:
    case 11:
      return ChangeAttributes(random);
    case 12:
      path = Leaf(random), other = Leaf(random);
      return MakeChange([&] { (void)client_->Link(path, other, superuser_); });
    case 13:
      path = Leaf(random), other = Leaf(random);
      break;
    case 14:
      path = Middle(random), other = Middle(random);
      break;
    default:
      path = OneIn(random, 2) ? Top(random) : Anything(random);
      other = OneIn(random, 2) ? Top(random) : Anything(random);
      break;
  }
  MakeChange([&] { (void)client_->Rename(path, other, superuser_); });
}

// --- checks ---

// A walk may return ESTALE if a file or directory is removed under it twice.
void OracleLoad::CheckStale(const Record& record) {
  const auto& changes = server_->history().changes();
  const bool reason = std::ranges::any_of(changes, [&](const Change& change) {
    return change.made <= record.walk.end && change.returned >= record.walk.begin;
  });
  if (!reason)
    Violation("ESTALE for no reason", Describe(server_->history(), record.walk, record.guarantee));
}

void OracleLoad::CheckLog(Worker& worker) {
  const History& history = server_->history();
  Tally& tally = worker.tally;
  for (const Record& record : worker.log) {
    const auto& [walk, guarantee] = record;
    const std::errc error = walk.outcome.error;
    if (error == protocol::kStale) {
      CheckStale(record);
      ++tally.stale;
      continue;
    }
    ++tally.walks;
    tally.cached += guarantee == Guarantee::kHandOverHand;
    tally.strict += guarantee == Guarantee::kStrict;
    tally.found += error == std::errc{};
    tally.absent += error == std::errc::no_such_file_or_directory;
    tally.denied += error == std::errc::permission_denied;
    tally.not_directory += error == std::errc::not_a_directory;
    // A stricter guarantee implies the weaker ones.
    bool undecided = false;
    const auto is_legal = [&](Guarantee asked) {
      const Verdict verdict = Check(history, walk, asked);
      undecided |= verdict == Verdict::kUndecided;
      return verdict == Verdict::kLegal;
    };
    const bool steps = is_legal(Guarantee::kSteps);
    const bool hand_over_hand = steps && is_legal(Guarantee::kHandOverHand);
    const bool strict = hand_over_hand && is_legal(Guarantee::kStrict);
    if (undecided) {
      ++tally.undecided;
      continue;
    }
    if (!steps) Violation("no order of steps allows this", Describe(history, walk, guarantee));
    if (steps && !hand_over_hand && guarantee != Guarantee::kSteps) {
      Violation("no overlapping steps allow this", Describe(history, walk, guarantee));
    }
    if (hand_over_hand && !strict && guarantee == Guarantee::kStrict) {
      Violation("no single tick allows this", Describe(history, walk, guarantee));
    }
    tally.torn += hand_over_hand && !strict;
    tally.loose += steps && !hand_over_hand;
    if (guarantee == Guarantee::kStrict && error == std::errc{} &&
        walk.operation.kind == Operation::Kind::kStat && walk.outcome.attributes.nlink == 0) {
      Violation("a strict stat of a removed file", Describe(history, walk, guarantee));
    }
  }
  worker.log.clear();
}

void OracleLoad::CompareTrees() { CompareDirectory(kRootNode, ""); }

void OracleLoad::CompareDirectory(NodeId directory, const std::string& path) {
  const History& history = server_->history();
  std::set<std::string> live;
  for (const auto& [name, past] : history.at(directory).names) {
    const std::string child = path + "/" + name;
    const auto seen = client_->Stat(child, superuser_, {.no_follow = true});
    if (past.now() == kNothing) {
      if (seen || seen.error() != std::errc::no_such_file_or_directory) {
        Violation("a removed name is left", child);
      }
      continue;
    }
    live.insert(name);
    const Attributes& expected = history.at(past.now()).attributes.now();
    if (!seen) {
      Violation("a name is missing", child);
    } else if (*seen != expected) {
      Violation("other attributes than the server's",
                child + ": node " + std::to_string(seen->fileid) + " of ctime " +
                    std::to_string(seen->ctime.seconds) + ", not node " +
                    std::to_string(expected.fileid) + " of ctime " +
                    std::to_string(expected.ctime.seconds));
    }
    if (expected.type == FileType::kDirectory) CompareDirectory(past.now(), child);
  }
  std::set<std::string> listed;
  (void)client_->ReadDir(path.empty() ? "/" : path, superuser_, [&](const DirectoryEntry& entry) {
    listed.insert(entry.name);
    return true;
  });
  if (listed != live) Violation("a listing with other names than the server's", path);
}

}  // namespace nfswalk::stress
