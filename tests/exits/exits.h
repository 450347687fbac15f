// exits: a small tree behind a client whose every state a test can set, and the two things to say
// of a state: it is answered under RCU, or it is left to references, for this reason and at this
// price.
#ifndef NFSWALK_TESTS_EXITS_EXITS_H_
#define NFSWALK_TESTS_EXITS_EXITS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "nfsclient/client.h"
#include "nfsclient/icache/inode_cache.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/superblock.h"
#include "nfsclient/walk/walk.h"
#include "tests/exits/frozen_question.h"
#include "tests/exits/steered_clock.h"
#include "tests/exits/told_server.h"
#include "tests/fixtures/client_internals.h"

namespace nfswalk::exits {

using Calls = std::vector<std::string>;
using protocol::FileType;

class Exits : public testing::Test {
 protected:
  // The root is file 1.
  static constexpr uint64_t kRoot = fixtures::MemoryServer::kRoot;
  static constexpr uint64_t kD = 2;   // "d"
  static constexpr uint64_t kDF = 3;  // "d/f", a regular file
  static constexpr uint64_t kDL = 4;  // "d/l", a link to "f"
  static constexpr uint64_t kDS = 5;  // "d/s", a directory

  Exits() : server_(new ToldServer), unmounted_(server_) {
    server_->Add(kRoot, "d", FileType::kDirectory);
    server_->Add(kD, "f", FileType::kRegular);
    server_->Add(kD, "l", FileType::kSymlink, "f");
    server_->Add(kD, "s", FileType::kDirectory);
    // Nothing grows old by itself, and nothing is known that was not asked for.
    options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s = 600;
    options_.rdirplus = false;
  }

  void Mount() { client_ = std::move(*Client::MountOver(std::move(unmounted_), options_)); }

  Question StatOf(std::string path) const { return {.path = std::move(path), .credential = me_}; }
  Question AccessTo(std::string path, uint32_t mode) const { return AccessBy(me_, path, mode); }
  static Question AccessBy(const Credential& who, std::string path, uint32_t mode) {
    return {.kind = Question::kAccess, .path = std::move(path), .credential = who, .mode = mode};
  }
  Question TextOf(std::string path) const {
    return {.kind = Question::kReadLink, .path = std::move(path), .credential = me_};
  }

  // Brings into the caches what the question needs. Returns what that took.
  Calls Warm(const Question& question) {
    (void)Ask(*client_, question);
    return server_->TakeCalls();
  }

  // This is answered under RCU, and alike by references without the server.
  Answer Answered(const Question& question, std::errc error = {}) {
    const uint64_t before = server_->count();
    server_->Freeze(true);
    const RcuAnswer under_rcu = AskRcu(*client_, question);
    EXPECT_EQ(under_rcu.need, NeedRef::kNone);
    EXPECT_EQ(under_rcu.answer.error, error);
    EXPECT_EQ(AskRef(*client_, question), under_rcu.answer);
    EXPECT_EQ(server_->count(), before) << "calls";
    server_->Freeze(false);
    return under_rcu.answer;
  }

  // This is left to references for `need`, without a call; they then answer with `error` after
  // `calls`.
  Answer Left(const Question& question, NeedRef need, std::errc error, const Calls& calls) {
    (void)server_->TakeCalls();
    const RcuAnswer under_rcu = AskRcu(*client_, question);
    EXPECT_EQ(under_rcu.need, need);
    EXPECT_EQ(under_rcu.answer.error, std::errc::resource_unavailable_try_again);
    EXPECT_EQ(server_->TakeCalls(), Calls{});
    Answer with_references = AskRef(*client_, question);
    EXPECT_EQ(with_references.error, error);
    EXPECT_EQ(server_->TakeCalls(), calls);
    return with_references;
  }

  nfs::Superblock& superblock() { return ClientInternals::SuperblockOf(*client_); }

  // The inode that a path ends at, links not followed.
  icache::InodeRef InodeOf(std::string_view path) {
    icache::InodeRef inode;
    EXPECT_EQ(
        walk::ResolveRef(superblock(), path, me_, {.follow_last = false}, &walk::RefWalk::Resolve,
                         [&](walk::RefWalk& walk) {
                           inode = icache::Hold(walk.inode());
                           return std::errc{};
                         }),
        std::errc{});
    (void)server_->TakeCalls();
    return inode;
  }
  // Its attributes are not believed any more.
  void Doubt(std::string_view path) { nfs::InvalidateAttributes(superblock(), *InodeOf(path)); }

  // Others have changed directory `id`, called `path`, and the client has noticed, asking for
  // something else; its own rights there it knows again.
  void NoticeChangeOf(uint64_t id, const std::string& path) {
    const uint32_t number = ++changes_;
    server_->Add(id, "new" + std::to_string(number), FileType::kRegular);
    (void)Warm(AccessBy(Credential(1000 + number, 1), path, kMayRead));
    (void)Warm(AccessTo(path, kMayExecute));
  }

  const Credential me_{1, 1}, another_{2, 2};
  MountOptions options_;
  ToldServer* const server_;
  std::unique_ptr<Client> client_;

 private:
  std::unique_ptr<ToldServer> unmounted_;
  uint32_t changes_ = 0;
};

}  // namespace nfswalk::exits

#endif  // NFSWALK_TESTS_EXITS_EXITS_H_
