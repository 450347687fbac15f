// walked_mount: a client of a server in memory, and the verbs with which the tests of the walk's
// known bugs (docs/known_bugs.md) tell their stories.
#ifndef NFSWALK_TESTS_KNOWN_BUGS_WALKED_MOUNT_H_
#define NFSWALK_TESTS_KNOWN_BUGS_WALKED_MOUNT_H_

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "nfsclient/client.h"
#include "rcu/defer.h"
#include "rcu/sync_point.h"
#include "tests/fixtures/memory_server.h"
#include "tests/race/interleavings.h"

namespace nfswalk {

// A server that refuses everything on some files to some users.
class RefusingServer : public fixtures::MemoryServer {
 public:
  void Refuse(uint64_t file, uint32_t uid) {
    std::lock_guard lock(refused_mutex_);
    refused_.emplace(file, uid);
  }
  // Of all regular files.
  void RefuseFiles(uint32_t uid) { refused_files_of_ = uid; }
  protocol::AccessReply Access(const FileHandle& file, const Credential& who) override {
    protocol::AccessReply reply = MemoryServer::Access(file, who);
    std::lock_guard lock(refused_mutex_);
    const bool refused =
        (reply.attributes->type == FileType::kRegular && refused_files_of_ == who.uid()) ||
        refused_.contains({reply.attributes->fileid, who.uid()});
    if (refused) reply.granted = 0;
    return reply;
  }

  // The next READLINK fails: the server no longer knows the handle.
  void ForgetLinkOnce() { forgets_link_ = true; }
  protocol::ReadLinkReply ReadLink(const FileHandle& link, const Credential& who) override {
    if (!forgets_link_.exchange(false)) return MemoryServer::ReadLink(link, who);
    protocol::ReadLinkReply reply;
    reply.error = protocol::kStale;
    return reply;
  }

 private:
  std::mutex refused_mutex_;
  std::set<std::pair<uint64_t, uint32_t>> refused_;
  std::atomic<uint32_t> refused_files_of_{0};
  std::atomic<bool> forgets_link_{false};
};

class WalkedMount : public testing::Test {
 protected:
  using FileType = protocol::FileType;
  static constexpr uint64_t kRoot = fixtures::MemoryServer::kRoot;

  WalkedMount() { Mount(StepByStep()); }
  ~WalkedMount() override { rcu::SyncPointScript::ClearAll(); }

  // Every walk takes every step, where a test may overtake it. The path cache has tests of its own.
  static MountOptions StepByStep() {
    MountOptions options;
    options.path_cache = false;
    return options;
  }

  // Attributes are believed for ten minutes. Gives up the mount before.
  void Mount(MountOptions options) {
    client_.reset();
    auto server = std::make_unique<RefusingServer>();
    server_ = server.get();
    server_->OnReply([this](std::string_view call, std::string_view name) {
      if (on_reply_) on_reply_(call, name);
    });
    options.acregmin_s = options.acregmax_s = options.acdirmin_s = options.acdirmax_s = 600;
    client_ = std::move(*Client::MountOver(std::move(server), options));
  }

  // Runs `meanwhile` on a thread of its own when this thread reaches `point` for the `turn`-th time
  // from now on (the first is 1). Other threads pass.
  void At(std::string_view point, int turn, std::function<void()> meanwhile) {
    taken_ = false;
    auto turns = std::make_shared<int>(0);
    const auto walker = std::this_thread::get_id();
    rcu::SyncPointScript::OnReach(point,
                                  [this, turns, turn, walker, meanwhile = std::move(meanwhile)] {
                                    if (std::this_thread::get_id() != walker || ++*turns != turn)
                                      return;
                                    taken_ = true;
                                    Elsewhere(meanwhile);
                                  });
  }
  // True if it came to that.
  bool Taken() const { return taken_; }

  // The file id, or the errno with a minus sign.
  int64_t Stat(std::string_view path, ResolveFlags flags = {}) const {
    auto attributes = client_->Stat(path, me_, flags);
    return attributes ? static_cast<int64_t>(attributes->fileid)
                      : -static_cast<int64_t>(attributes.error());
  }
  // So often has a path to be asked for until nothing is new: a change of the directory may come to
  // light with the first answer, and cost the rights that came with it.
  static constexpr int kCold = 3;
  void Warm(std::string_view path) const {
    for (int i = 0; i < kCold; ++i) (void)Stat(path);
  }
  std::string Link(std::string_view path) const {
    std::array<char, 5000> text;
    auto size = client_->ReadLink(path, text, me_);
    return size ? std::string(text.data(), *size) : "error";
  }
  // The client takes in the current attributes of everything in a directory.
  void List(std::string_view path) const {
    EXPECT_EQ(client_->ReadDir(path, me_, [](const auto&) { return true; }), std::errc{});
  }
  uint64_t NeedRef(nfswalk::NeedRef reason) const {
    return client_->stats().need_ref[static_cast<size_t>(reason)];
  }

  // Of a file, a directory or a link that the client makes and removes.
  int64_t Make(FileType type, const std::string& path, std::string_view target = "target") const {
    Result<Attributes> made =
        type == FileType::kDirectory ? client_->MakeDirectory(path, 0755, another_)
        : type == FileType::kSymlink ? client_->MakeSymlink(target, path, another_)
                                     : client_->Create(path, 0644, true, another_);
    EXPECT_TRUE(made) << path;
    return made ? static_cast<int64_t>(made->fileid) : 0;
  }
  void Remove(FileType type, const std::string& path) const {
    EXPECT_EQ(type == FileType::kDirectory ? client_->RemoveDirectory(path, another_)
                                           : client_->Unlink(path, another_),
              std::errc{});
  }
  void Rename(std::string_view from, std::string_view to) const {
    EXPECT_EQ(client_->Rename(from, to, another_), std::errc{}) << from << " to " << to;
  }

  // Nothing is left of what the calls so far took: only the root stays.
  void ExpectNothingHeld() const {
    client_->DropCaches();
    rcu::Barrier();
    EXPECT_EQ(client_->stats().dentries, 1u);
    EXPECT_EQ(client_->stats().inodes, 1u);
  }

  const Credential me_{1, 1}, another_{2, 2};
  RefusingServer* server_ = nullptr;
  std::function<void(std::string_view call, std::string_view name)> on_reply_;
  std::unique_ptr<Client> client_;

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_KNOWN_BUGS_WALKED_MOUNT_H_
