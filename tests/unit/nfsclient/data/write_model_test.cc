// Explores all short sequences of steps of a small world: one file of a few bytes, WRITEs of two,
// two open files, and a server that executes and answers its calls in any order (write_model.h).
// The client is the real one. In every state:
//
//   P1 A read that begins after a write has returned shows its bytes, unless a later own write, a
//      truncation or another client may have replaced them. It shows zeros only in holes, and does
//      not end before the end of what own writes have made.
//   P2 After an fsync without an error the stable bytes of the server are right, and stay so
//      whatever calls in flight it executes later.
//   P3 A WRITE carries only bytes that were written, and zeros where the file has a hole.
//   P4 Two WRITEs in flight do not overlap, and no WRITE is sent beside a SETATTR of the size.
//   P5 After an fsync, with nothing in flight, stat shows the server's size. No valid size is less
//      than what own writes have made.
//   P6 A WRITE that is refused is told to each open file once.
//   P7 An open notices that another client has changed the file since the last one.

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/nfsclient/data/write_model.h"

namespace nfswalk::data {
namespace {

using How = ScriptedServer::How;
using Kind = Step::Kind;

#ifdef NFSWALK_TEST_NIGHTLY
constexpr bool kIsNightly = true;
#else
constexpr bool kIsNightly = false;
#endif

constexpr size_t kScriptsPerMount = 512;

// The script that runs, for the report of an assertion of the client that does not hold.
std::string current_script;

void ReportScript(int signal) {
  constexpr std::string_view kSays = "The script: ";
  (void)!write(STDERR_FILENO, kSays.data(), kSays.size());
  (void)!write(STDERR_FILENO, current_script.data(), current_script.size());
  (void)!write(STDERR_FILENO, "\n", 1);
  (void)std::signal(signal, SIG_DFL);
  (void)std::raise(signal);
}

// Runs scripts depth-first, each from the start, until one shows a violation.
class Explorer {
 public:
  Explorer(const Theme& theme, bool sends_before) : theme_(theme), sends_before_(sends_before) {}

  void Explore() { Visit(kIsNightly ? theme_.nightly_depth : theme_.depth); }
  size_t scripts() const { return scripts_; }

 private:
  void Visit(size_t depth) {
    if (mount_ == nullptr || mount_->files >= kScriptsPerMount) {
      mount_ = nullptr;
      mount_ = std::make_unique<ModelMount>();
    }
    ++scripts_;
    current_script = TextOf(script_);
    std::vector<Step> next;
    {
      WriteModel model(*mount_, theme_, sends_before_);
      next = model.Run(script_);
      EXPECT_EQ(model.violation(), "") << current_script;
    }
    if (depth == 0) return;
    for (const Step& step : next) {
      if (testing::Test::HasFailure()) return;
      script_.push_back(step);
      Visit(depth - 1);
      script_.pop_back();
    }
  }

  const Theme& theme_;
  const bool sends_before_;
  std::unique_ptr<ModelMount> mount_;
  Script script_;
  size_t scripts_ = 0;
};

const Step kSync{Kind::kSyncA}, kSyncThrough{Kind::kSyncThrough};
const Step kRead{Kind::kRead}, kReadBegin{Kind::kReadBegin}, kReadSend{Kind::kReadSend},
    kReadEnd{Kind::kReadEnd};
const Step kStat{Kind::kStat}, kStatThrough{Kind::kStatThrough}, kOpen{Kind::kOpen},
    kRestart{Kind::kRestart};
const Step kOverwrite{Kind::kOverwrite}, kAppend{Kind::kAppend};

Step WriteA(size_t at, size_t size) { return {Kind::kWriteA, at, size}; }
Step WriteB(size_t at, size_t size) { return {Kind::kWriteB, at, size}; }
Step Cut(size_t size) { return {Kind::kCut, size}; }
Step CutThrough(size_t size) { return {Kind::kCutThrough, size}; }

const std::vector<Theme>& Themes() {
  static const std::vector<Theme> themes = {
      {"AnyStep", 0,
       {WriteA(0, 1), WriteA(0, 2), WriteA(1, 1), WriteA(1, 2), WriteA(2, 1), WriteB(0, 1),
        WriteB(1, 2), kSync, kSyncThrough, Cut(0), CutThrough(1), kStat, kStatThrough, kRead,
        kReadBegin, kReadSend, kReadEnd, kOpen, kRestart, kOverwrite, kAppend},
       {How::kPlain, How::kFileSync, How::kNoAttributes, How::kShort, How::kNoSpace, How::kEnded},
       true, 3, 4},
      {"WriteBack", 2,
       {WriteA(0, 2), WriteA(1, 1), WriteB(1, 2), kSync, kRestart},
       {How::kPlain, How::kFileSync, How::kShort, How::kEnded},
       true, 5, 6},
      {"Refusals", 1,
       {WriteA(0, 2), WriteA(2, 1), WriteB(1, 2), kSync, kSyncThrough, kRead},
       {How::kPlain, How::kNoSpace},
       false, 5, 6},
      {"Truncation", 2,
       {WriteA(0, 2), WriteA(2, 1), Cut(0), CutThrough(1), kSync, kSyncThrough, kRead, kRestart},
       {How::kPlain, How::kNoAttributes, How::kEnded},
       true, 4, 6},
      {"Reads", 0,
       {WriteA(0, 2), WriteA(1, 1), WriteA(2, 1), kSyncThrough, CutThrough(0), kRead, kReadBegin,
        kReadSend, kReadEnd, kRestart},
       {How::kPlain, How::kFileSync},
       false, 5, 6},
      {"Sizes", 0,
       {WriteA(0, 1), WriteA(0, 2), WriteA(2, 1), kSyncThrough, kStat, kStatThrough, kRead,
        kAppend},
       {How::kPlain, How::kFileSync, How::kNoAttributes},
       true, 4, 6},
      {"Gaps", 1,
       {WriteA(0, 1), WriteA(1, 2), WriteA(2, 1), WriteB(1, 2), kSyncThrough, kOpen, kRead,
        kAppend},
       {How::kPlain, How::kFileSync, How::kShort},
       false, 4, 6},
      {"Batches", 4,
       {WriteA(0, 2), WriteB(2, 2), kStatThrough, kOpen, kAppend},
       {How::kPlain, How::kNoAttributes},
       false, 5, 6},
      {"OtherClients", 1,
       {WriteA(0, 2), WriteA(2, 1), kSync, kSyncThrough, kOpen, kRead, kOverwrite, kAppend},
       {How::kPlain, How::kNoAttributes, How::kNoSpace},
       true, 4, 6},
  };
  return themes;
}

class WriteModelTest : public testing::TestWithParam<size_t> {};

void ExploreTheme(const Theme& theme, bool sends_before) {
  (void)std::signal(SIGABRT, ReportScript);
  (void)std::signal(SIGSEGV, ReportScript);
  Explorer explorer(theme, sends_before);
  explorer.Explore();
  testing::Test::RecordProperty("scripts", std::to_string(explorer.scripts()));
  if (std::getenv("NFSWALK_MODEL_COUNTS") != nullptr) {
    fprintf(stderr, "%s: %zu scripts\n", theme.name, explorer.scripts());
  }
}

TEST_P(WriteModelTest, HoldsWithPreOpAttributes) { ExploreTheme(Themes()[GetParam()], true); }
TEST_P(WriteModelTest, HoldsWithoutPreOpAttributes) { ExploreTheme(Themes()[GetParam()], false); }

INSTANTIATE_TEST_SUITE_P(Themes, WriteModelTest, testing::Range<size_t>(0, Themes().size()),
                         [](const auto& info) { return Themes()[info.param].name; });

}  // namespace
}  // namespace nfswalk::data
