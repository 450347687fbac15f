// An unchanging tree: every result of the client equals the kernel's on the backing directory, cold
// and warm, in every walk mode, for every credential.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/differential/differential_export.h"
#include "tests/fixtures/protocol_versions.h"

namespace nfswalk::differential {
namespace {

constexpr uint64_t kSeed = 20141028;
constexpr size_t kOddPaths = 2000;

// Generates questions of different paths for corner cases of path resolution, with the credentials
// in turn, every third with RESOLVE_* flags: slashes and dots in every place, names of 254 to 257
// bytes and of every byte, paths of 4094 to 4097 bytes, links in chains, in loops and dangling,
// `..` above the root, through files, and through directories without search permission.
class OddPaths {
 public:
  OddPaths(const Inventory& found, size_t identities, uint64_t seed)
      : found_(found), identities_(identities), random_(seed) {}

  // Returns at least `count`.
  std::vector<Question> Generate(size_t count) {
    ByHand();
    Lengths();
    for (const std::string& link : found_.links) WithEnds(link);
    for (const std::string& name : found_.names) Add("bytes/" + name);
    while (questions_.size() < count) Add(Drawn());
    return std::move(questions_);
  }

 private:
  void Add(const std::string& path) {
    if (!seen_.insert(path).second) return;
    Question question;
    question.path = path;
    question.who = questions_.size() % identities_;
    if (questions_.size() % 3 == 2) {
      const uint64_t bits = random_();
      question.flags.no_symlinks = (bits & 3) == 0;
      question.flags.beneath = (bits & 4) != 0;
      question.flags.in_root = (bits & 24) == 0 || !question.flags.beneath;
    }
    questions_.push_back(question);
  }

  void WithEnds(const std::string& path) {
    for (const char* end : {"", "/", "//", "/.", "/./", "/..", "/../", "/x", "/x/", "/..."}) {
      Add(path + end);
    }
  }

  void ByHand() {
    for (const char* path : {"",           "/",
                             "//",         "////",
                             ".",          "..",
                             "...",        "./",
                             "../",        "/.",
                             "/..",        "/./",
                             "/../",       "././.",
                             "../..",      "/../../..",
                             "/.../",      "missing",
                             "missing/",   "missing/.",
                             "missing/..", "missing/../types"}) {
      Add(path);
    }
    for (const std::string base :
         {"types", "types/data", "types/fifo", "types/block", "closed", "closed/in", "readable",
          "readable/file", "rights/0d", "sticky", "deep/d/d"}) {
      WithEnds(base);
      WithEnds("/" + base);
      WithEnds("../.././" + base);
      WithEnds(base + "/../../" + base);
    }
  }

  void Lengths() {
    for (size_t length = 254; length <= 257; ++length) {
      const std::string name(length, 'n');
      for (const char* before : {"", "types/", "missing/", "types/data/", "closed/", "links/dir/",
                                 "readable/", "links/dangling/", "links/absolute/"}) {
        WithEnds(before + name);
      }
    }
    const std::string deep = found_.directories[DeepestIndex()];
    for (size_t length = 4094; length <= 4097; ++length) {
      for (const std::string& start : {std::string("types"), std::string("links/absolute"), deep,
                                       std::string("types/data"), std::string("missing")}) {
        Add(start + std::string(length - start.size(), '/'));
        Add(Repeated(start, "/.", length));
        Add(Repeated(start, "/../d", length));
        Add(Repeated("", "/", length - start.size()) + start);
        Add(start + "/" + std::string(length - start.size() - 1, 'n'));
      }
      Add(Repeated("links/self", "/self", length));
      Add(Repeated("deep/d", "/d", length));
    }
    for (int links = 38; links <= 42; ++links) {
      Add(Repeated("links", "/self", 5 + 5 * static_cast<size_t>(links)));
      Add(Repeated("links", "/self", 5 + 5 * static_cast<size_t>(links)) + "/target");
      Add(Repeated("links", "/parent/links", 5 + 13 * static_cast<size_t>(links)) + "/target");
      WithEnds("links/chain" + std::to_string(links));
    }
    Add("links/long_text/" + Repeated("", "./", 4000));
    Add("links/long_text/" + Repeated("", "./", 4000) + "file");
    Add("links/long_text2/../long_text/../long_text2/file");
  }

  size_t DeepestIndex() const {
    size_t deepest = 0;
    for (size_t i = 0; i < found_.directories.size(); ++i) {
      if (found_.directories[i].size() > found_.directories[deepest].size()) deepest = i;
    }
    return deepest;
  }

  // Returns `start` and as many of `piece` as needed, cut at `length`.
  static std::string Repeated(std::string start, std::string_view piece, size_t length) {
    while (start.size() < length) start += piece;
    return start.substr(0, length);
  }

  template <class T>
  const T& Pick(const std::vector<T>& from) {
    return from[random_() % from.size()];
  }

  // Begins with an existing path and appends random components.
  std::string Drawn() {
    static const std::vector<std::string> kStarts = {"",   "",    "",     "/",     "//",
                                                     "./", "../", "/../", "../../"};
    static const std::vector<std::string> kSlashes = {"/",   "/",    "/",    "/",     "//",
                                                      "/./", "/.//", "/../", "/x/../"};
    static const std::vector<std::string> kEnds = {"",   "",   "",    "",    "/",
                                                   "//", "/.", "/..", "/./", "/missing"};
    std::string path = Pick(kStarts) + (random_() % 4 == 0 ? Pick(found_.links) : Pick(found_.all));
    for (uint64_t more = random_() % 4; more > 0; --more) {
      path += Pick(kSlashes);
      switch (random_() % 6) {
        case 0:
          path += "..";
          break;
        case 1:
          path += Pick(found_.names);
          break;
        case 2:
          path += "../" + Pick(found_.all);
          break;
        case 3:
          path += "../../" + Pick(found_.links);
          break;
        default:
          path += LastOf(Pick(found_.all));
      }
    }
    return path + Pick(kEnds);
  }

  static std::string LastOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  const Inventory& found_;
  const size_t identities_;
  std::mt19937_64 random_;
  std::vector<Question> questions_;
  std::set<std::string> seen_;
};

class StillTree : public DifferentialExport, public testing::WithParamInterface<int> {
 protected:
  int version() const { return GetParam(); }

  void SetUp() override {
    DifferentialExport::SetUp();
    if (!IsSkipped()) found_ = BuildTree(*tree_, kSeed);
  }

  // Every path, with the credentials in turn.
  std::vector<Question> Everything() const {
    std::vector<Question> questions;
    for (const std::string& path : found_.all) {
      questions.push_back({path, questions.size() % identities_.size(), {}, {}});
    }
    return questions;
  }
  // Files of sampled modes and owners, with every credential.
  std::vector<Question> RightsOfAll() const {
    std::vector<Question> questions;
    for (const std::string& path : found_.rights) {
      for (size_t who = 0; who < identities_.size(); ++who) {
        questions.push_back({path, who, {}, {who % 4 == 0, false, kReadWriteExecute, false}});
      }
    }
    return questions;
  }
  std::vector<Question> Odd() const {
    auto questions = OddPaths(found_, identities_.size(), kSeed).Generate(kOddPaths);
    for (size_t i = 0; i < questions.size(); ++i) {
      Aspects& aspects = questions[i].aspects;
      aspects.read_link = questions[i].path.size() < 1000;  // long paths: the walk alone
      aspects.access_modes = aspects.read_link ? OneMode(i) : 0;
    }
    return questions;
  }
  // Without a cache a walk makes two or three RPCs for each component: stat, access and readlink
  // take turns. Keeps one of `share` questions, which does not divide the number of credentials.
  static std::vector<Question> QuestionsWithoutCache(const std::vector<Question>& questions,
                                                     size_t share) {
    std::vector<Question> kept;
    size_t longs = 0;
    for (size_t i = 0; i < questions.size(); i += share) {
      const bool is_long = questions[i].path.size() > 1000;
      if (is_long && longs++ % 16 != 0) continue;
      Question question = questions[i];
      const size_t turn = is_long ? 0 : kept.size() % 3;
      question.aspects = {turn == 0, turn == 2, turn == 1 ? OneMode(i / 3) : uint8_t{0}};
      kept.push_back(std::move(question));
    }
    return kept;
  }
  // Each mode from 1 to 7 in turn.
  static uint8_t OneMode(size_t i) { return static_cast<uint8_t>(2 << i % 7); }

  // Compares with empty caches, and again with the caches filled by that.
  void CheckColdAndWarm(std::string_view mode, const std::vector<AnsweredQuestion>& answered) {
    auto client = Mount(version(), "actimeo=600&walk=" + std::string(mode));
    ASSERT_NE(client, nullptr);
    Check(*client, answered, "cold, " + std::string(mode));
    const Stats before = client->stats();
    Check(*client, answered, "warm, " + std::string(mode));
    const Stats after = client->stats();
    ExpectNoDifferences();
    if (mode == "ref") return;
    // Long links before long paths allocate, which only ref-walk may; so do long strict walks.
    EXPECT_GT(after.rcu_walks - before.rcu_walks, 10 * (after.ref_walks - before.ref_walks));
  }

  // Bit n for mode n of access(2).
  static constexpr uint8_t kReadWriteExecute = 1 << 1 | 1 << 2 | 1 << 4;

  Inventory found_;
};

TEST_P(StillTree, WithoutACacheEveryResultIsTheKernels) {
  auto client = Mount(version(), "noac");
  ASSERT_NE(client, nullptr);
  for (const auto& questions :
       {QuestionsWithoutCache(Everything(), 4), QuestionsWithoutCache(RightsOfAll(), 4),
        QuestionsWithoutCache(Odd(), version() == 3 ? 1 : 4)}) {
    Check(*client, AskKernel(questions), "noac");
  }
  ExpectNoDifferences();
}

TEST_P(StillTree, ColdAndWarmInEveryModeEveryResultIsTheKernels) {
  std::vector<AnsweredQuestion> answered;
  for (const auto& questions : {Everything(), RightsOfAll(), Odd()}) {
    auto more = AskKernel(questions);
    answered.insert(answered.end(), more.begin(), more.end());
  }
  for (const char* mode : kWalkModes) CheckColdAndWarm(mode, answered);
  for (int error : {0, ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG, EXDEV, EINVAL}) {
    EXPECT_GE(comparison_->Answered(error), 20u) << strerrorname_np(error);
  }
}

// A double collect gives the results of a hand-over-hand walk.
TEST_P(StillTree, StrictWalksGiveTheKernelsResults) {
  std::vector<Question> questions = Odd();
  for (Question& question : questions) question.flags.strict = true;
  auto answered = AskKernel(questions);
  // A long link before a long path allocates, which RCU-walk, the only pass of strict, may not:
  // EAGAIN.
  std::erase_if(answered, [](const AnsweredQuestion& one) {
    return one.question.path.size() > 1000 && one.question.path.contains("long_text");
  });
  CheckColdAndWarm("rcu-search", answered);
}

// A documented difference (docs/protocols.md); no other test's tree has such directories.
TEST_P(StillTree, ReferralsAreEREMOTEInVersion4) {
  constexpr uint32_t kMode = 01600;
  ASSERT_TRUE(IsReferral(kMode));
  tree_->Directory("referral", kMode);
  auto client = Mount(version(), "noac");
  ASSERT_NE(client, nullptr);
  auto found = client->Stat("referral", identities_[0].credential);
  if (version() == 3 || !server_->properties().sticky_is_referral) {
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->mode, kMode);
  } else {
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(static_cast<int>(found.error()), EREMOTE);
  }
}

class SquashedTree : public StillTree {
 protected:
  bool root_squash() const override { return true; }
};

TEST_P(SquashedTree, RootHasTheRightsOfTheAnonymousUser) {
  CheckColdAndWarm("rcu-search", AskKernel(RightsOfAll()));
}

INSTANTIATE_TEST_SUITE_P(, StillTree, fixtures::AllVersions(), fixtures::VersionTestName);
INSTANTIATE_TEST_SUITE_P(, SquashedTree, fixtures::AllVersions(), fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk::differential
