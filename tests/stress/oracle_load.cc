#include "tests/stress/oracle_load.h"

#include <algorithm>
#include <set>
#include <span>
#include <thread>
#include <utility>

namespace nfswalk::stress {

namespace {

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

template <class Random>
size_t Below(Random& random, size_t limit) {
  return random() % limit;
}
template <class Random, size_t n>
std::string Any(Random& random, const std::string_view (&names)[n]) {
  return std::string(names[Below(random, n)]);
}
template <class Random>
bool OneIn(Random& random, size_t n) {
  return Below(random, n) == 0;
}

template <class Random>
std::string Top(Random& random) {
  return Any(random, kTops);
}
template <class Random>
std::string Middle(Random& random) {
  return Any(random, kTops) + "/" + Any(random, kMiddles);
}
template <class Random>
std::string Leaf(Random& random) {
  return OneIn(random, 5) ? Top(random) + "/" + Any(random, kLeaves)
                          : Middle(random) + "/" + Any(random, kLeaves);
}
template <class Random>
std::string LinkPath(Random& random) {
  return Top(random) + "/" + Any(random, kLinks);
}
template <class Random>
std::string Directory(Random& random) {
  return OneIn(random, 4) ? Top(random) : Middle(random);
}
template <class Random>
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
  walks += other.walks;
  cached += other.cached;
  path_hits += other.path_hits;
  strict += other.strict;
  found += other.found;
  absent += other.absent;
  denied += other.denied;
  not_directory += other.not_directory;
  torn += other.torn;
  loose += other.loose;
  undecided += other.undecided;
  unanswered += other.unanswered;
  stale += other.stale;
  changes += other.changes;
}

void OracleLoad::Hesitate() {
  thread_local std::minstd_rand random{std::random_device{}()};
  if (random() % 32 == 0) std::this_thread::yield();
}

OracleLoad::OracleLoad(Options options) : options_(std::move(options)) {
  auto server = std::make_unique<OracleServer>(
      clock_, OracleServer::Options{.change_info = options_.change_info, .on_reply = Hesitate});
  server_ = server.get();
  MountOptions mount = options_.mount;
  mount.acregmin_s = mount.acregmax_s = mount.acdirmin_s = mount.acdirmax_s = 100'000;
  client_ = std::move(*Client::MountOver(std::move(server), mount));
  for (size_t i = 0; i < kThreads; ++i) {
    actors_[i].index = i;
    actors_[i].random.seed(options_.seed * kThreads + i);
  }
  Prepare();
}

void OracleLoad::Prepare() {
  for (std::string_view top : kTops) {
    Do([&] { (void)client_->MakeDirectory(top, 0755, superuser_); });
    for (std::string_view middle : kMiddles) {
      const std::string directory = std::string(top) + "/" + std::string(middle);
      Do([&] { (void)client_->MakeDirectory(directory, 0755, superuser_); });
      for (std::string_view leaf : kLeaves) {
        const std::string file = directory + "/" + std::string(leaf);
        Do([&] { (void)client_->Create(file, 0644, true, superuser_); });
      }
    }
  }
  for (int i = 0; i < 6; ++i) FlipLink(actors_[0].random, 0);
  server_->history().Forget();
}

void OracleLoad::Round(size_t walks) {
  walks_left_ = static_cast<int64_t>(walks);
  const auto with_all = [this](auto&& act) {
    std::vector<std::thread> threads;
    for (Actor& actor : actors_) threads.emplace_back([&] { act(actor); });
    for (std::thread& thread : threads) thread.join();
  };
  with_all([this](Actor& actor) { Act(actor); });
  server_->history().Seal();
  with_all([this](Actor& actor) { JudgeLog(actor); });
  for (Actor& actor : actors_) tally_.Add(std::exchange(actor.tally, {}));
  tally_.changes += server_->history().changes().size();
  CompareTrees();
  server_->history().Forget();
}

void OracleLoad::Act(Actor& actor) {
  while (walks_left_.load() > 0) {
    if (actor.index < kWriters && OneIn(actor.random, 2)) {
      ChangeSomething(actor);
    } else {
      AskSomething(actor);
    }
  }
}

void OracleLoad::Fault(std::string_view what, const std::string& detail) {
  constexpr size_t kFaultsMax = 20;
  std::lock_guard lock(faults_mutex_);
  if (faults_.size() < kFaultsMax) faults_.push_back(std::string(what) + ": " + detail);
}

// --- walks ---

Question OracleLoad::RandomQuestion(Random& random) {
  Question question;
  question.superuser = OneIn(random, 4);
  question.follow = !OneIn(random, 5);
  switch (Below(random, 16)) {
    case 0:
      question.path = Top(random);
      break;
    case 1:
    case 2:
      question.path = Middle(random);
      break;
    case 3:
    case 4:
      question.path = LinkPath(random) + "/" + Any(random, kLeaves);
      break;
    case 5:
      question.path = Middle(random) + "/../" + Any(random, kMiddles) + "/" + Any(random, kLeaves);
      break;
    case 6:
      question.path = Middle(random) + "/../../" + Leaf(random);
      break;
    case 7:
      question.path = LinkPath(random) + "/../" + Any(random, kMiddles) + "/./";
      break;
    case 8:
      question.path = Leaf(random) + (OneIn(random, 2) ? "/" : "/..");
      break;
    case 9:
    case 10:
      question.path = LinkPath(random);
      break;
    default:
      question.path = Leaf(random);
      break;
  }
  if (OneIn(random, 8)) question.path.insert(0, "/");
  const size_t kind = Below(random, 8);
  if (kind == 0) {
    question.kind = Question::Kind::kAccess;
    question.mask = static_cast<uint32_t>(Below(random, 4)) << 1;
  } else if (kind <= 2 && question.path.find('l') != question.path.npos) {
    question.kind = Question::Kind::kReadLink;
  }
  return question;
}

Answer OracleLoad::Ask(const Question& question, ResolveFlags flags) {
  const Credential& who = question.superuser ? superuser_ : visitor_;
  flags.no_follow = !question.follow;
  Answer answer;
  switch (question.kind) {
    case Question::Kind::kStat: {
      auto attributes = client_->Stat(question.path, who, flags);
      if (attributes) {
        answer.attributes = *attributes;
      } else {
        answer.error = attributes.error();
      }
      break;
    }
    case Question::Kind::kAccess:
      answer.error = client_->Access(question.path, question.mask, who, flags);
      break;
    case Question::Kind::kReadLink: {
      std::array<char, 256> text;
      auto size = client_->ReadLink(question.path, text, who, flags);
      if (size) {
        answer.text.assign(text.data(), *size);
      } else {
        answer.error = size.error();
      }
      break;
    }
  }
  return answer;
}

void OracleLoad::AskSomething(Actor& actor) {
  Record record{.walk = {.question = RandomQuestion(actor.random)}, .promise = Promise::kSteps};
  ResolveFlags flags;
  // RCU-walk alone is kHandOverHand; ref-walk is neither that nor kStrict.
  if (options_.mount.walk != WalkMode::kRef) {
    const size_t drawn = Below(actor.random, 4);
    flags.strict = drawn >= 2;
    flags.cached = drawn % 2 == 1;
    record.promise = flags.strict   ? Promise::kStrict
                     : flags.cached ? Promise::kHandOverHand
                                    : Promise::kSteps;
  }
  record.walk.begin = clock_.Now();
  record.walk.answer = Ask(record.walk.question, flags);
  record.walk.end = clock_.Now();
  if (record.walk.answer.error == std::errc::resource_unavailable_try_again) {
    ++actor.tally.unanswered;
    return;
  }
  --walks_left_;
  actor.log.push_back(std::move(record));
}

// --- changes ---

template <class Call>
void OracleLoad::Do(Call&& call) {
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
  Do([&] { (void)client_->Rename(one, third, superuser_); });
  Do([&] { (void)client_->Rename(other, one, superuser_); });
  Do([&] { (void)client_->Rename(third, other, superuser_); });
  // Cleans up after lost races.
  Do([&] { (void)client_->Rename(third, one, superuser_); });
}

// Points a link to another directory: by a rename over it, or by removal and creation.
void OracleLoad::FlipLink(Random& random, size_t index) {
  const std::string link = OneIn(random, 6) ? Leaf(random) : LinkPath(random);
  const std::string target = Any(random, kTargets);
  if (OneIn(random, 2)) {
    const std::string fresh = Beside(link, "fresh" + std::to_string(index));
    Do([&] { (void)client_->MakeSymlink(target, fresh, superuser_); });
    Do([&] { (void)client_->Rename(fresh, link, superuser_); });
    Do([&] { (void)client_->Unlink(fresh, superuser_); });
  } else {
    Do([&] { (void)client_->Unlink(link, superuser_); });
    Do([&] { (void)client_->MakeSymlink(target, link, superuser_); });
  }
}

void OracleLoad::ChangeAttributes(Random& random) {
  SetAttributes wanted;
  std::string path;
  if (OneIn(random, 3)) {
    path = Leaf(random);
    if (OneIn(random, 2)) {
      wanted.mode = OneIn(random, 2) ? 0644 : 0640;
    } else {
      wanted.size_bytes = Below(random, 1000);
    }
  } else {
    path = Directory(random);
    wanted.mode = OneIn(random, 3) ? 0700 : 0755;
  }
  Do([&] { (void)client_->SetAttributesOf(path, wanted, superuser_, {.no_follow = true}); });
}

void OracleLoad::ChangeSomething(Actor& actor) {
  Random& random = actor.random;
  if (OneIn(random, 400)) client_->DropCaches();
  if (OneIn(random, 400)) client_->InvalidateCaches();
  std::string path, other;
  switch (Below(random, 16)) {
    case 0:
    case 1:
      return Do([&] { (void)client_->Create(Leaf(random), 0644, true, superuser_); });
    case 2:
      return Do([&] { (void)client_->Unlink(Leaf(random), superuser_); });
    case 3:
      return Do([&] { (void)client_->MakeDirectory(Directory(random), 0755, superuser_); });
    case 4:
      path = OneIn(random, 8) ? Leaf(random) : Directory(random);
      return Do([&] { (void)client_->MakeDirectory(path, 0755, superuser_); });
    case 5:
      path = Directory(random);
      return Do([&] { (void)client_->RemoveDirectory(path, superuser_); });
    case 6:
    case 7:
      return FlipLink(random, actor.index);
    case 8:
    case 9:
      return Exchange(random, actor.index);
    case 10:
    case 11:
      return ChangeAttributes(random);
    case 12:
      path = Leaf(random), other = Leaf(random);
      return Do([&] { (void)client_->Link(path, other, superuser_); });
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
  Do([&] { (void)client_->Rename(path, other, superuser_); });
}

// --- checks ---

// A walk may return ESTALE if a file or directory is removed under it twice.
void OracleLoad::JudgeStale(const Record& record) {
  const auto& changes = server_->history().changes();
  const bool reason = std::ranges::any_of(changes, [&](const Change& change) {
    return change.made <= record.walk.end && change.returned >= record.walk.begin;
  });
  if (!reason)
    Fault("ESTALE for no reason", Describe(server_->history(), record.walk, record.promise));
}

void OracleLoad::JudgeLog(Actor& actor) {
  const History& history = server_->history();
  Tally& tally = actor.tally;
  for (const Record& record : actor.log) {
    const auto& [walk, promise] = record;
    const std::errc error = walk.answer.error;
    if (error == protocol::kStale) {
      JudgeStale(record);
      ++tally.stale;
      continue;
    }
    ++tally.walks;
    tally.cached += promise == Promise::kHandOverHand;
    tally.strict += promise == Promise::kStrict;
    tally.found += error == std::errc{};
    tally.absent += error == std::errc::no_such_file_or_directory;
    tally.denied += error == std::errc::permission_denied;
    tally.not_directory += error == std::errc::not_a_directory;
    // A stricter promise implies the weaker ones.
    bool undecided = false;
    const auto is_legal = [&](Promise asked) {
      const Verdict verdict = Judge(history, walk, asked);
      undecided |= verdict == Verdict::kUndecided;
      return verdict == Verdict::kLegal;
    };
    const bool steps = is_legal(Promise::kSteps);
    const bool hand_over_hand = steps && is_legal(Promise::kHandOverHand);
    const bool strict = hand_over_hand && is_legal(Promise::kStrict);
    if (undecided) {
      ++tally.undecided;
      continue;
    }
    if (!steps) Fault("no walk gives this", Describe(history, walk, promise));
    if (steps && !hand_over_hand && promise != Promise::kSteps) {
      Fault("no steps that overlap give this", Describe(history, walk, promise));
    }
    if (hand_over_hand && !strict && promise == Promise::kStrict) {
      Fault("at no moment was this so", Describe(history, walk, promise));
    }
    tally.torn += hand_over_hand && !strict;
    tally.loose += steps && !hand_over_hand;
    if (promise == Promise::kStrict && error == std::errc{} &&
        walk.question.kind == Question::Kind::kStat && walk.answer.attributes.nlink == 0) {
      Fault("a strict stat of a removed file", Describe(history, walk, promise));
    }
  }
  actor.log.clear();
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
        Fault("a removed name is left", child);
      }
      continue;
    }
    live.insert(name);
    const Attributes& expected = history.at(past.now()).attributes.now();
    if (!seen) {
      Fault("a name is missing", child);
    } else if (*seen != expected) {
      Fault("other attributes than the server's",
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
  if (listed != live) Fault("a listing with other names than the server's", path);
}

}  // namespace nfswalk::stress
