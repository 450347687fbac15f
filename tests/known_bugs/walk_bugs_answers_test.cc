// The known bugs of path walks (docs/testing.md) with a wrong answer: the tree changes under a
// walk, at a point that the test chooses, and the answer must have been true at some moment of the
// walk.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

constexpr uint64_t kFound = 0;  // the file id is not compared

// Lists what a name may denote. The link leads to the directory "target", which contains "in".
enum class What { kNothing, kFile, kDirectory, kLink };
constexpr What kAll[] = {What::kNothing, What::kFile, What::kDirectory, What::kLink};

constexpr FileType TypeOf(What what) {
  return what == What::kDirectory ? FileType::kDirectory
         : what == What::kLink    ? FileType::kSymlink
                                  : FileType::kRegular;
}

// The questions about the name "t".
enum class Question { kOfItself, kOfWhatItLeadsTo, kOfWhatIsInIt, kItsText };
constexpr Question kQuestions[] = {Question::kOfItself, Question::kOfWhatItLeadsTo,
                                   Question::kOfWhatIsInIt, Question::kItsText};

class OvertakenWalk : public MemoryMount {
 protected:
  OvertakenWalk() {
    options_.path_cache = false;  // every walk takes every step
    Mount();
    server_->Add(server_->Add(kRoot, "target", FileType::kDirectory), "in", FileType::kRegular);
  }

  void Become(What from, What to) const {
    if (from != What::kNothing) Remove(TypeOf(from), "t");
    if (to != What::kNothing) Make(TypeOf(to), "t");
  }
  uint64_t Ask(Question question, bool strict = false) const {
    switch (question) {
      case Question::kOfItself:
        return Stat("t", {.no_follow = true, .strict = strict});
      case Question::kOfWhatItLeadsTo:
        return Stat("t", {.strict = strict});
      case Question::kOfWhatIsInIt:
        return Stat("t/in", {.strict = strict});
      default:
        return LinkText("t") == "target" ? 1 : kMissing;
    }
  }

  // The answer of a walk that is overtaken at `point` by a change of "t", and the true answers
  // before and after; nullopt if the walk does not reach the point.
  struct Overtaken {
    uint64_t before, answer, after;
  };
  std::optional<Overtaken> Overtake(std::string_view point, What from, What to, Question question,
                                    bool strict) {
    Become(What::kNothing, from);
    Overtaken result;
    for (int i = 0; i < kCold; ++i) result.before = Ask(question, strict);
    At(point, 1, [&] { Become(from, to); });
    result.answer = Ask(question, strict);
    rcu::SyncPointScript::ClearAll();
    const bool taken = reached_;
    if (!taken) Become(from, to);
    result.after = Ask(question, strict);
    Become(to, What::kNothing);
    return taken ? std::optional(result) : std::nullopt;
  }
};

#ifndef NDEBUG

// At each of these points the walk has used what "t" was, or is about to. WALK-3.
TEST_F(OvertakenWalk, AnswerIsWhatTheNameBecame) {
  int overtaken = 0;
  for (const char* point : {"dentry:before-sample", "walk:after-child-sample",
                            "walk:before-confirm", "walk:after-link-text"}) {
    for (const What from : kAll) {
      for (const What to : kAll) {
        for (const Question question : kQuestions) {
          for (const bool strict : {false, true}) {
            const auto seen = Overtake(point, from, to, question, strict);
            if (!seen) continue;
            ++overtaken;
            // Behind a link, or inside a directory, a hand-over-hand walk has left the name: the
            // earlier answer is valid. A strict one validates it again.
            const bool left =
                !strict && (question == Question::kOfWhatIsInIt ||
                            (from == What::kLink && question == Question::kOfWhatItLeadsTo));
            EXPECT_TRUE(seen->answer == seen->after || (left && seen->answer == seen->before))
                << point << ": from " << static_cast<int>(from) << " to " << static_cast<int>(to)
                << ", question " << static_cast<int>(question) << ", strict " << strict << ": "
                << seen->answer << " instead of " << seen->after;
          }
        }
      }
    }
  }
  EXPECT_GT(overtaken, 250);
}

// EACCES of a directory that was replaced by a file, ENOTDIR of a file replaced by a directory:
// reported only if the name is unchanged. WALK-8.
TEST_F(OvertakenWalk, AnErrorUnderRcuIsValidatedBeforeItIsReported) {
  const auto errors = [&](std::string_view point, int turn, uint64_t before, uint64_t after,
                          std::string_view path, std::function<void()> change) {
    Warm(path);
    const uint64_t walks = client_->stats().rcu_walks;
    EXPECT_EQ(Stat(path), before);
    EXPECT_EQ(client_->stats().rcu_walks, walks + 1) << "RCU-walk did not return the error";
    At(point, turn, std::move(change));
    const uint64_t answer = Stat(path);
    EXPECT_TRUE(after != kFound ? answer == after : IsFile(answer))
        << answer << ": " << path << " at " << point;
    EXPECT_TRUE(reached_);
    rcu::SyncPointScript::ClearAll();
  };
  server_->Grant(server_->Add(kRoot, "closed", FileType::kDirectory), 0, me_.uid());
  errors("walk:before-confirm", 1, kDenied, kNoDirectory, "closed/x", [&] {
    Remove(FileType::kDirectory, "closed");
    Make(FileType::kRegular, "closed");
  });
  server_->Grant(server_->Add(kRoot, "closed2", FileType::kDirectory), 0, me_.uid());
  errors("walk:next-component", 2, kDenied, kMissing, "closed2/x",
         [&] { Rename("closed2", "elsewhere"); });
  uint64_t inside = 0;
  server_->Add(kRoot, "file", FileType::kRegular);
  Warm("file/x");
  At("walk:before-confirm", 1, [&] {
    Remove(FileType::kRegular, "file");
    Make(FileType::kDirectory, "file");
    inside = Make(FileType::kRegular, "file/x");
  });
  EXPECT_EQ(Stat("file/x"), inside);
  EXPECT_TRUE(reached_);
  server_->Add(kRoot, "dir", FileType::kDirectory);
  const std::string too_long = "dir/" + std::string(256, 'n');
  errors("walk:before-confirm", 1, Failed(std::errc::filename_too_long), kNoDirectory, too_long,
         [&] {
           Remove(FileType::kDirectory, "dir");
           Make(FileType::kRegular, "dir");
         });
  server_->Add(kRoot, "up", FileType::kDirectory);
  errors("walk:before-confirm", 1, kMissing, kFound, "up/missing",
         [&] { Make(FileType::kRegular, "up/missing"); });
}

// The directory is moved away and back, or elsewhere, while `..` is resolved in it.
TEST_F(OvertakenWalk, ADirectoryThatIsMovedUnderDotDotIsNoticedEvenIfItComesBack) {
  const uint64_t p = server_->Add(kRoot, "p", FileType::kDirectory);
  const uint64_t q = server_->Add(kRoot, "q", FileType::kDirectory);
  server_->Add(p, "d", FileType::kDirectory);
  const uint64_t in_p = server_->Add(p, "f", FileType::kRegular);
  server_->Add(q, "f", FileType::kRegular);
  Warm("p/d/../f");
  const uint64_t changed = Needs(NeedRef::kChanged);
  At("walk:before-dotdot-check", 1, [&] {
    Rename("p/d", "q/d");
    Rename("q/d", "p/d");
  });
  EXPECT_EQ(Stat("p/d/../f"), in_p);
  EXPECT_TRUE(reached_);
  EXPECT_EQ(Needs(NeedRef::kChanged), changed + 1);
  At("walk:before-dotdot-check", 1, [&] { Rename("p/d", "q/d"); });
  EXPECT_EQ(Stat("p/d/../f"), kMissing);
  EXPECT_TRUE(reached_);
}

// Wherever the walk is when its ancestors are moved to the root, or below others, it does not leave
// the root, nor the scope of `beneath`.
TEST_F(OvertakenWalk, NoMoveTakesAWalkerOutOfItsScope) {
  const uint64_t in = server_->Add(kRoot, "in", FileType::kDirectory);
  const uint64_t a = server_->Add(in, "a", FileType::kDirectory);
  server_->Add(a, "b", FileType::kDirectory);
  const uint64_t x = server_->Add(kRoot, "x", FileType::kRegular);
  constexpr uint64_t kEscaped = Failed(std::errc::cross_device_link);
  const std::string path = "in/a/b/../../../x";
  int taken = 0;
  for (const bool beneath : {true, false}) {
    for (const bool strict : {true, false}) {
      for (const char* point : {"walk:before-dotdot-check", "walk:next-component",
                                "walk:before-confirm", "walk:after-child-sample"}) {
        for (int turn = 1; turn <= 7; ++turn) {
          const ResolveFlags flags{.beneath = beneath, .in_root = !beneath, .strict = strict};
          Warm(path);
          At(point, turn, [&] { Rename("in/a", "a"); });
          const uint64_t answer = Stat(path, flags);
          rcu::SyncPointScript::ClearAll();
          EXPECT_TRUE(answer == x || answer == kMissing || (beneath && answer == kEscaped))
              << answer << " at " << point << " " << turn;
          if (!reached_) continue;
          ++taken;
          EXPECT_EQ(Stat("a/b/../../../x", flags), beneath ? kEscaped : x);
          Rename("a", "in/a");
        }
      }
    }
  }
  EXPECT_GE(taken, 4 * 12);
}

#endif

// A directory is moved to and fro while its `..` is resolved: a strict walk never ends in a parent
// that it did not come from; others may (WALK-15). WALK-16.
TEST_F(OvertakenWalk, AStrictWalkThroughDotDotComesOutWhereItCameFrom) {
  const uint64_t p = server_->Add(kRoot, "p", FileType::kDirectory);
  const uint64_t q = server_->Add(kRoot, "q", FileType::kDirectory);
  server_->Add(p, "d", FileType::kDirectory);
  const uint64_t in_p = server_->Add(p, "f", FileType::kRegular);
  server_->Add(q, "f", FileType::kRegular);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0}, found{0}, missing{0};
  std::thread reader([&] {
    while (!stop) {
      const uint64_t answer = Stat("p/d/../f", {.strict = true});
      wrong += answer != in_p && answer != kMissing && answer != kTryAgain;
      if (answer == in_p) ++found;
      if (answer == kMissing) ++missing;
    }
  });
  for (int i = 0; i < 1000 || found < 20 || missing < 20; ++i) {
    Rename(i % 2 == 0 ? "p/d" : "q/d", i % 2 == 0 ? "q/d" : "p/d");
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace nfswalk
