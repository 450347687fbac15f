// The commands that walk a tree of the export in which another client exchanges files meanwhile, at
// each step from their listing on: after each reply of the server. Nothing out of the tree is read,
// changed or removed, wherever a name leads by then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/copy/copy_source.h"
#include "nfsclient/cli/copy/export_copy.h"
#include "nfsclient/cli/copy/local_descriptor.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk::cli {
namespace {

using fixtures::MemoryServer;
using testing::HasSubstr;

enum class Command { kRm, kChmod, kFind, kDu, kLs, kCopyHere, kCopyBetween };

// The tree is top/{a/f, mid/{y/{f, sub/f}, z, l}}. What is outside has the same names.
enum class Exchange {
  kDirectoryForLink,
  kDirectoryForDirectory,
  kDirectoryForFile,
  kMiddleForLink,
  kMiddleForDirectory,
  kFileForLink,
  kFileForFile,
  kFileForDirectory,
  kLinkForDirectory,
  kRemovedFileForLink,  // the server has forgotten the handle
  kRemovedDirectoryForLink,
  kStartForLink,
  kStartForDirectory,
};
constexpr int kExchanges = 13;

// State of the command's caches when the exchange is made.
enum class Caches {
  kFresh,    // all is trusted
  kExpired,  // all has just timed out, as in a run that takes longer than acdirmin
  kNone,     // noac
};

struct Attack {
  Exchange exchange;
  int turn;  // the step after which it happens, counted from 1
  bool v4;
  Caches caches;
};

struct Outcome {
  std::string messages;
  ExitCode exit_code;
  bool exchanged;
};

class TreeAttackTest : public MemoryMount, public testing::WithParamInterface<Command> {
 protected:
  void TearDown() override { std::filesystem::remove_all(here_); }

  uint64_t AddFile(uint64_t directory, std::string_view name) {
    const uint64_t file = server_->Add(directory, name, FileType::kRegular);
    server_->Edit(file, [](Attributes& attributes) {
      attributes.mode = 0600;
      attributes.size_bytes = 3;
    });
    return file;
  }
  uint64_t AddDirectory(uint64_t directory, std::string_view name) {
    return server_->Add(directory, name, FileType::kDirectory);
  }
  // Returns y/{f, sub/f}, y first.
  std::vector<uint64_t> AddInner(uint64_t directory) {
    const uint64_t y = AddDirectory(directory, "y"), sub = AddDirectory(y, "sub");
    return {y, sub, AddFile(y, "f"), AddFile(sub, "f")};
  }
  void Protect(const std::vector<uint64_t>& files) {
    for (const uint64_t file : files) outside_[file] = server_->Get(file);
  }

  void MakeTree() {
    top_ = AddDirectory(kRoot, "top");
    AddFile(AddDirectory(top_, "a"), "f");
    mid_ = AddDirectory(top_, "mid");
    y_ = AddInner(mid_).front();
    z_ = AddFile(mid_, "z");
    l_ = server_->Add(mid_, "l", FileType::kSymlink, "z");
    aside_ = AddDirectory(kRoot, "aside");
    AddDirectory(kRoot, "copies");

    outside_.clear();
    victim_ = AddDirectory(kRoot, "victim");
    others_ = AddDirectory(kRoot, "others");
    Protect(AddInner(victim_));
    const uint64_t mid = AddDirectory(victim_, "mid"), link = AddDirectory(victim_, "l");
    Protect(AddInner(mid));
    Protect({AddFile(mid, "z"), AddFile(victim_, "z"), AddFile(link, "f"), mid, link});
    const uint64_t z = AddDirectory(others_, "z"), top = AddDirectory(others_, "top");
    Protect({AddFile(z, "f"), AddFile(others_, "y"), AddFile(top, "f"), z, top});
  }

  // Moves `name` out of the directory, and another file in, or a link to it.
  void MoveIn(uint64_t from, uint64_t directory, std::string_view name) {
    server_->Move(directory, aside_, name);
    server_->Move(from, directory, name);
  }
  void LinkTo(std::string_view target, uint64_t directory, std::string_view name) {
    server_->Move(directory, aside_, name);
    server_->Add(directory, name, FileType::kSymlink, target);
  }
  uint64_t FileOf(Exchange exchange) const {
    switch (exchange) {
      case Exchange::kDirectoryForLink:
      case Exchange::kDirectoryForDirectory:
      case Exchange::kDirectoryForFile:
      case Exchange::kRemovedDirectoryForLink:
        return y_;
      case Exchange::kMiddleForLink:
      case Exchange::kMiddleForDirectory:
        return mid_;
      case Exchange::kFileForLink:
      case Exchange::kFileForFile:
      case Exchange::kFileForDirectory:
      case Exchange::kRemovedFileForLink:
        return z_;
      case Exchange::kLinkForDirectory:
        return l_;
      case Exchange::kStartForLink:
      case Exchange::kStartForDirectory:
        return top_;
    }
    return 0;
  }
  // Returns false if the file is not there any more.
  bool Make(Exchange exchange) {
    if (server_->Get(FileOf(exchange)).nlink == 0) return false;
    MakeNow(exchange);
    return true;
  }
  void MakeNow(Exchange exchange) {
    switch (exchange) {
      case Exchange::kDirectoryForLink:
        return LinkTo("../../victim/y", mid_, "y");
      case Exchange::kDirectoryForDirectory:
        return MoveIn(victim_, mid_, "y");
      case Exchange::kDirectoryForFile:
        return MoveIn(others_, mid_, "y");
      case Exchange::kMiddleForLink:
        return LinkTo("../victim/mid", top_, "mid");
      case Exchange::kMiddleForDirectory:
        return MoveIn(victim_, top_, "mid");
      case Exchange::kFileForLink:
        return LinkTo("../../victim/z", mid_, "z");
      case Exchange::kFileForFile:
        return MoveIn(victim_, mid_, "z");
      case Exchange::kFileForDirectory:
        return MoveIn(others_, mid_, "z");
      case Exchange::kLinkForDirectory:
        return MoveIn(victim_, mid_, "l");
      case Exchange::kRemovedFileForLink:
        protocol_->FailOnce("", protocol::kStale);
        return LinkTo("../../victim/z", mid_, "z");
      case Exchange::kRemovedDirectoryForLink:
        protocol_->FailOnce("", protocol::kStale);
        return LinkTo("../../victim/y", mid_, "y");
      case Exchange::kStartForLink:
        return LinkTo("victim", kRoot, "top");
      case Exchange::kStartForDirectory:
        return MoveIn(others_, kRoot, "top");
    }
  }

  // Whether the reply shows the file that is exchanged.
  bool Lists(const fixtures::Call& call, Exchange exchange) const {
    if (exchange == Exchange::kStartForLink) {
      return std::ranges::find(call.names, "top") != call.names.end();
    }
    // A start that is a directory is the one that the walk begins to list.
    const uint64_t listed = FileOf(exchange) == mid_ || FileOf(exchange) == top_ ? top_ : mid_;
    return call.procedure == "READDIR" && MemoryServer::IdOf(*call.file) == listed;
  }

  // Runs the command on a tree of its own.
  Outcome Run(Command command, const Attack& attack) {
    options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s =
        attack.caches == Caches::kNone ? 0 : 600;
    NewServer();
    MakeTree();
    std::atomic<int> steps = 0;
    std::atomic<bool> is_listed = false, exchanged = false;
    const auto step = [&] {
      if (!is_listed || ++steps != attack.turn) return;
      exchanged = Make(attack.exchange);
      if (attack.caches == Caches::kExpired) client_->InvalidateCaches();
    };
    if (attack.v4) {
      server_->OpenByName();
      server_->AnswerWholePaths();
      server_->AnswerChangeInfo(true);
      server_->BetweenOperations(step);
    }
    Mount();
    on_reply_ = [&](const fixtures::Call& call) {
      if (Lists(call, attack.exchange)) is_listed = true;
      step();
    };
    const LocalDescriptor messages(memfd_create("messages", MFD_CLOEXEC));
    const LocalDescriptor output(memfd_create("output", MFD_CLOEXEC));
    Outcome outcome;
    {
      Console console({.out_fd = output.get(), .err_fd = messages.get()}, "test");
      Session session(*client_, console, "test", {});
      RunOn(session, command);
      outcome.exit_code = session.exit_code();
    }
    on_reply_ = nullptr;
    outcome.exchanged = exchanged;
    outcome.messages.resize(static_cast<size_t>(lseek(messages.get(), 0, SEEK_END)));
    EXPECT_EQ(pread(messages.get(), outcome.messages.data(), outcome.messages.size(), 0),
              std::ssize(outcome.messages));
    return outcome;
  }

  void RunOn(Session& session, Command command) {
    constexpr TreeOptions kAlone{.threads = 1};
    const Paths top{"top"};
    switch (command) {
      case Command::kRm:
        return RunCommand(session, top, RmOptions{.tree = kAlone, .recursive = true});
      case Command::kChmod:
        return RunCommand(
            session, top,
            ChmodOptions{.tree = kAlone, .recursive = true, .mode = *ModeChange::Parse("a+rwX")});
      case Command::kFind:
        return RunCommand(session, top, FindOptions{.filter = {}, .tree = kAlone, .newer = {}});
      case Command::kDu:
        return RunCommand(session, top, DuOptions{.tree = kAlone});
      case Command::kLs:
        return RunCommand(session, top,
                          LsOptions{.listing = {.details = true, .style = {}}, .recursive = true});
      case Command::kCopyHere:
        std::filesystem::remove_all(here_);
        return RunCommand(session, {"top", here_.string()},
                          CpOptions{.tree = kAlone, .recursive = true, .to = {}});
      case Command::kCopyBetween:
        return CopyBetween(session);
    }
  }

  // `cp -r` to the export of another URL; here that is the same one.
  void CopyBetween(Session& session) {
    const auto source = ExportSource(*client_, session.credential());
    TaskThreads threads(0, 0);
    std::shared_ptr<Node> directory = *client_->Resolve("copies", session.credential());
    ExportCopy copy(session, {.source = *source, .threads = threads}, directory, "copy", "copy");
    source->Walk("top", {.threads = 1}, copy);
  }

  // Expects that nothing outside was read, changed or removed. A file that was moved into the tree
  // is in it for `rm`, which removes names.
  void ExpectOutsideUntouched(Command command) {
    for (const fixtures::LoggedCall& call : protocol_->TakeLog()) {
      static constexpr std::string_view kHarmless[] = {"LOOKUP", "GETATTR", "ACCESS", "COMPOUND"};
      if (std::ranges::find(kHarmless, call.procedure) != std::end(kHarmless)) continue;
      EXPECT_FALSE(outside_.contains(MemoryServer::IdOf(call.file)))
          << call.procedure << " " << testing::PrintToString(call.names);
    }
    for (const auto& [file, before] : outside_) {
      if (command == Command::kRm && before.type == FileType::kRegular) continue;
      EXPECT_EQ(server_->Get(file), before) << "file " << file;
    }
  }

  uint64_t top_ = 0, mid_ = 0, y_ = 0, z_ = 0, l_ = 0;
  uint64_t aside_ = 0, victim_ = 0, others_ = 0;
  std::map<uint64_t, Attributes> outside_;
  const std::filesystem::path here_ = std::filesystem::path(testing::TempDir()) / "tree_attack";
};

std::string NameOf(const testing::TestParamInfo<Command>& command) {
  static constexpr const char* kNames[] = {"Rm", "Chmod",    "Find",       "Du",
                                           "Ls", "CopyHere", "CopyBetween"};
  return kNames[static_cast<int>(command.param)];
}

INSTANTIATE_TEST_SUITE_P(Commands, TreeAttackTest,
                         testing::Values(Command::kRm, Command::kChmod, Command::kFind,
                                         Command::kDu, Command::kLs, Command::kCopyHere,
                                         Command::kCopyBetween),
                         NameOf);

TEST_P(TreeAttackTest, NothingOutsideIsReadChangedOrRemoved) {
  for (const bool v4 : {false, true}) {
    for (const Caches caches : {Caches::kFresh, Caches::kExpired, Caches::kNone}) {
      int exchanges = 0, noticed = 0;
      for (int kind = 0; kind < kExchanges; ++kind) {
        const Exchange exchange = static_cast<Exchange>(kind);
        // The start is what the user named, through a link, too, whenever that is looked up.
        if (GetParam() == Command::kLs && exchange >= Exchange::kStartForLink) continue;
        bool exchanged = true;
        for (int turn = 1; exchanged; ++turn) {
          SCOPED_TRACE(testing::Message() << "exchange " << kind << " after step " << turn << ", v4 "
                                          << v4 << ", caches " << static_cast<int>(caches));
          const Outcome outcome = Run(GetParam(), {exchange, turn, v4, caches});
          ExpectOutsideUntouched(GetParam());
          EXPECT_EQ(outcome.exit_code, outcome.messages.empty() ? kExitOk : kExitPathFailed);
          // Reported once: what could not be entered is not removed either.
          const std::string_view failure = "'top/mid/y': Stale file handle";
          const size_t first = outcome.messages.find(failure);
          if (first != std::string::npos) {
            EXPECT_EQ(outcome.messages.find(failure, first + 1), std::string::npos);
          }
          exchanged = outcome.exchanged;
          exchanges += exchanged ? 1 : 0;
          noticed += outcome.messages.find("replaced meanwhile") != std::string::npos ? 1 : 0;
        }
      }
      EXPECT_GT(exchanges, 9 * 5);
      if (caches == Caches::kNone) {
        EXPECT_GT(noticed, 5);
      }
    }
  }
}

}  // namespace
}  // namespace nfswalk::cli
