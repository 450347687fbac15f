// nfs_bugs: a client of a scripted server, and the verbs in which the bugs that others had are
// told. See docs/known_bugs.md.
#ifndef NFSWALK_TESTS_KNOWN_BUGS_NFS_BUGS_H_
#define NFSWALK_TESTS_KNOWN_BUGS_NFS_BUGS_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "nfsclient/client.h"
#include "rcu/sync_point.h"
#include "tests/known_bugs/scripted_server.h"
#include "tests/race/interleavings.h"

namespace nfswalk {

using protocol::FileType;

// Over both versions, as far as the client can tell them apart.
class NfsBugs : public testing::TestWithParam<int> {
 protected:
  static constexpr uint64_t kRoot = ScriptedServer::kRoot;

  NfsBugs() { NewServer(); }
  ~NfsBugs() override { rcu::SyncPointScript::ClearAll(); }

  void NewServer() {
    client_.reset();
    auto server = std::make_unique<ScriptedServer>(GetParam());
    server_ = server.get();
    server_->OnReply([this](std::string_view call, std::string_view name) {
      if (call == awaited_call_ && (awaited_name_.empty() || name == awaited_name_) &&
          !reply_came_.exchange(true)) {
        hold_reply_();
      }
    });
    unmounted_ = std::move(server);
    directory_ = server_->Add(kRoot, "d", FileType::kDirectory);
    file_ = server_->Add(directory_, "f", FileType::kRegular);
  }
  void Mount(const std::function<void(MountOptions&)>& change = [](MountOptions&) {}) {
    MountOptions options;
    options.acregmin_s = options.acregmax_s = options.acdirmin_s = options.acdirmax_s = 600;
    change(options);
    client_ = std::move(*Client::MountOver(std::move(unmounted_), options));
  }

  // Runs `meanwhile` on another thread while the next reply of `call`, about `name` if that is
  // given, is on its way to the client.
  void WhileReplyIsUnderWay(std::string_view call, std::function<void()> meanwhile,
                            std::string_view name = "") {
    awaited_name_ = name;
    hold_reply_ = [meanwhile = std::move(meanwhile)] { Elsewhere(meanwhile); };
    reply_came_ = false;
    awaited_call_ = call;
  }
  // Runs `meanwhile` on another thread when this one reaches `point` for the n-th time from now.
  void AtNth(int n, std::string_view point, std::function<void()> meanwhile) {
    reached_ = false;
    rcu::SyncPointScript::OnReach(
        point, [this, n, me = std::this_thread::get_id(), meanwhile = std::move(meanwhile),
                count = std::make_shared<std::atomic<int>>(0)] {
          if (std::this_thread::get_id() != me || ++*count != n) return;
          reached_ = true;
          Elsewhere(meanwhile);
        });
  }

  // The file id, or 0 for ENOENT.
  uint64_t Stat(std::string_view path, ResolveFlags flags = {}) { return StatAs(me_, path, flags); }
  uint64_t StatAs(const Credential& who, std::string_view path, ResolveFlags flags = {}) {
    auto attributes = client_->Stat(path, who, flags);
    if (attributes) return attributes->fileid;
    EXPECT_EQ(attributes.error(), std::errc::no_such_file_or_directory) << path;
    return 0;
  }
  // The same as the walk under RCU answers it; nothing if that would have to ask the server.
  std::optional<uint64_t> Cached(std::string_view path) {
    auto attributes = client_->Stat(path, me_, {.cached = true});
    if (attributes) return attributes->fileid;
    if (attributes.error() == std::errc::resource_unavailable_try_again) return {};
    EXPECT_EQ(attributes.error(), std::errc::no_such_file_or_directory) << path;
    return 0;
  }
  std::errc StatError(std::string_view path) {
    auto attributes = client_->Stat(path, me_);
    return attributes ? std::errc{} : attributes.error();
  }
  void List(std::string_view path) {
    EXPECT_EQ(client_->ReadDir(path, me_, [](const auto&) { return true; }), std::errc{});
  }
  // The client takes in what a directory is like now, and nothing of what is in it.
  void Notice(std::string_view directory) {
    EXPECT_EQ(client_->Access(directory, kMayRead, Credential(next_uid_++, 1)), std::errc{});
  }
  // What another client does when it saves a file: a new one under the old name.
  uint64_t Replace(uint64_t directory, std::string_view name) {
    server_->Take(directory, name);
    return server_->Add(directory, name, FileType::kRegular);
  }
  // Others change "d", and the client learns of it: all its names are in doubt. What may be done
  // with it is known again, so that a name costs a LOOKUP and nothing else.
  void CastDoubt() {
    server_->Add(directory_, "other" + std::to_string(++others_), FileType::kRegular);
    Notice("d");
    for (const Credential& who : {me_, another_}) {
      EXPECT_EQ(client_->Access("d", kMayRead, who), std::errc{});
    }
  }
  // While the reply of `call`, which `ask` leads to, is on its way, "d/f" is replaced and the
  // client sees that "d" has changed: what the reply says of the name is not believed.
  void ExpectOvertakenReplyIsDoubted(std::string_view call, const std::function<void()>& ask) {
    uint64_t now = 0;
    WhileReplyIsUnderWay(call, [&] {
      now = Replace(directory_, "f");
      Notice("d");
    });
    ask();
    ASSERT_TRUE(reply_came_) << "nothing led to a " << call;
    EXPECT_EQ(Stat("d/f"), now);
  }
  uint64_t Rpcs(const std::function<void()>& story) {
    const uint64_t before = server_->rpcs_sent();
    story();
    return server_->rpcs_sent() - before;
  }

  const Credential me_{1, 1}, another_{2, 2};
  ScriptedServer* server_ = nullptr;
  uint64_t directory_ = 0, file_ = 0;  // "d" and "d/f"
  std::unique_ptr<protocol::Protocol> unmounted_;
  std::unique_ptr<Client> client_;
  std::atomic<bool> reply_came_{true}, reached_{false};

 private:
  std::string awaited_call_, awaited_name_;
  std::function<void()> hold_reply_;
  std::atomic<uint32_t> next_uid_{1000};
  int others_ = 0;
};

inline std::string VersionOfTest(const testing::TestParamInfo<int>& test) {
  return "v" + std::to_string(test.param);
}

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_KNOWN_BUGS_NFS_BUGS_H_
