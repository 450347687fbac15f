// exits: a client of a small tree, whose caches a test sets to any state, and the two outcomes of a
// state: RCU-walk answers, or leaves to ref-walk for a given reason and at a given number of calls.
#ifndef NFSWALK_TESTS_EXITS_EXITS_H_
#define NFSWALK_TESTS_EXITS_EXITS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "nfsclient/icache/inode_cache.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/walk/walk.h"
#include "tests/exits/frozen_question.h"
#include "tests/exits/steered_clock.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk::exits {

// Calls in any order: "LOOKUP a", "GETATTR 2", "ACCESS 2", "READLINK 3", "OPEN a"; the number is a
// file id.
using Calls = std::multiset<std::string>;

inline constexpr std::errc kNoEntry = std::errc::no_such_file_or_directory;
inline constexpr std::errc kEio = std::errc::io_error;

class Exits : public MemoryMount {
 protected:
  // The root is file 1.
  static constexpr uint64_t kD = 2;   // "d"
  static constexpr uint64_t kDF = 3;  // "d/f", a regular file
  static constexpr uint64_t kDL = 4;  // "d/l", a link to "f"
  static constexpr uint64_t kDS = 5;  // "d/s", a directory

  Exits() {
    AddTree();
    options_.rdirplus = false;  // no prefetching
  }

  void MountAnew() {
    NewServer();
    AddTree();
    Mount();
  }

  Question StatOf(std::string path) const { return {.path = std::move(path), .credential = me_}; }
  // lstat().
  Question StatOfLink(std::string path) const {
    return {.path = std::move(path), .credential = me_, .flags = {.no_follow = true}};
  }
  Question AccessTo(std::string path, uint32_t mode) const { return AccessBy(me_, path, mode); }
  static Question AccessBy(const Credential& who, std::string path, uint32_t mode) {
    return {.kind = Question::kAccess, .path = std::move(path), .credential = who, .mode = mode};
  }
  Question TextOf(std::string path) const {
    return {.kind = Question::kReadLink, .path = std::move(path), .credential = me_};
  }

  // The calls since the last TakeCalls().
  Calls TakeCalls() {
    Calls calls;
    for (const fixtures::LoggedCall& call : protocol_->TakeLog()) {
      calls.insert(std::string(call.procedure) + " " +
                   (call.names.empty() ? std::to_string(fixtures::MemoryServer::IdOf(call.file))
                                       : call.names.front()));
    }
    return calls;
  }
  // Fills the caches for the question. Returns the calls needed.
  Calls Warm(const Question& question) {
    (void)Ask(*client_, question);
    return TakeCalls();
  }

  // Expects an answer of RCU-walk, and the same of ref-walk without a call.
  Answer Answered(const Question& question, std::errc error = {}) {
    RcuAnswer under_rcu;
    EXPECT_EQ(Rpcs([&] {
                protocol_->Fail("", kEio);
                under_rcu = AskRcu(*client_, question);
                EXPECT_EQ(under_rcu.need, NeedRef::kNone);
                EXPECT_EQ(under_rcu.answer.error, error);
                EXPECT_EQ(AskRef(*client_, question), under_rcu.answer);
                protocol_->Fail("", kOk);
              }),
              0u);
    return under_rcu.answer;
  }

  // Expects RCU-walk to leave for `need` without a call, and ref-walk to answer with `error` after
  // `calls`.
  Answer Left(const Question& question, NeedRef need, std::errc error, const Calls& calls) {
    (void)TakeCalls();
    const RcuAnswer under_rcu = AskRcu(*client_, question);
    EXPECT_EQ(under_rcu.need, need);
    EXPECT_EQ(under_rcu.answer.error, std::errc::resource_unavailable_try_again);
    EXPECT_EQ(TakeCalls(), Calls{});
    Answer with_references = AskRef(*client_, question);
    EXPECT_EQ(with_references.error, error);
    EXPECT_EQ(TakeCalls(), calls);
    return with_references;
  }

  nfs::Superblock& superblock() { return ClientInternals::SuperblockOf(*client_); }

  // The inode at the end of a path, links not followed.
  icache::InodeRef InodeOf(std::string_view path) {
    icache::InodeRef inode;
    EXPECT_EQ(ResolveRef(superblock(), path, me_, {.follow_last = false}, &walk::RefWalk::Resolve,
                         [&](walk::RefWalk& walk) {
                           inode = icache::Hold(walk.inode());
                           return kOk;
                         }),
              kOk);
    (void)TakeCalls();
    return inode;
  }
  void InvalidateAttributes(std::string_view path) {
    nfs::InvalidateAttributes(superblock(), *InodeOf(path));
  }

  // Directory `id` at `path` is changed by another client, and the client notices it by GETATTR;
  // its own rights there are cached anew.
  void NoticeChangeOf(uint64_t id, const std::string& path) {
    server_->Add(id, "new" + std::to_string(++changes_), FileType::kRegular);
    Notice(path);
    (void)Warm(AccessTo(path, kMayExecute));
  }

 private:
  void AddTree() {
    server_->Add(kRoot, "d", FileType::kDirectory);
    server_->Add(kD, "f", FileType::kRegular);
    server_->Add(kD, "l", FileType::kSymlink, "f");
    server_->Add(kD, "s", FileType::kDirectory);
  }

  uint32_t changes_ = 0;
};

}  // namespace nfswalk::exits

#endif  // NFSWALK_TESTS_EXITS_EXITS_H_
