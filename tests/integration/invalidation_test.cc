// Client::OnInvalidation() against a real server, which another client changes (NAME-30).

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

class Invalidated : public fixtures::ExportClient {
 protected:
  Invalidated() : ExportClient("actimeo=600&nordirplus") {}

  void SetUp() override {
    ExportClient::SetUp();
    if (client_ == nullptr) return;
    MakeDirectory("d/sub");
    MakeDirectory("e");
    MakeFile("d/file", "hello");
    MakeFile("d/other");
    for (const char* name : {"d", "d/sub", "d/file", "d/other", "e"}) (void)IdOf(name);
    ASSERT_EQ(client_->OnInvalidation([this](const Invalidation& event) { Note(event); }), kOk);
  }
  void TearDown() override { client_.reset(); }

  void Note(const Invalidation& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    noted_.notify_all();
  }
  NodeId IdOf(std::string_view name) {
    auto found = client_->Lookup(Path(name), root_);
    return found && found->node ? found->node->id() : NodeId();
  }
  // Returns once the listener has been told this.
  void Await(InvalidReason reason, NodeId node, std::string_view name = {}) {
    std::unique_lock lock(mutex_);
    noted_.wait(lock, [&] {
      return std::ranges::any_of(events_, [&](const Invalidation& event) {
        return event.reason == reason && event.node == node && event.name == name;
      });
    });
  }
  // Has everything revalidated. Returns once the listener has been told, which swallows what else
  // waits for it; then what was told.
  std::vector<Invalidation> Drain() {
    client_->InvalidateCaches();
    Await(InvalidReason::kEverything, {});
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }

  std::mutex mutex_;
  std::condition_variable noted_;
  std::vector<Invalidation> events_;
};

INSTANTIATE_TEST_SUITE_P(Versions, Invalidated, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(Invalidated, TellsWhatAnotherClientChanged) {
  const NodeId d = IdOf("d"), file = IdOf("d/file"), other = IdOf("d/other");
  std::ofstream(Backing("d/file")) << "changed";
  std::filesystem::permissions(Backing("d/other"), std::filesystem::perms::owner_read);
  std::filesystem::create_directory(Backing("d/new"));
  ASSERT_EQ(StatError("d/new"), kOk);  // asks the server: the directory has changed
  (void)client_->Open(Path("d/file"), kMayRead, root_);  // close-to-open
  (void)client_->Open(Path("d/other"), kMayRead, root_);
  Await(InvalidReason::kChanged, d);
  Await(InvalidReason::kChanged, file);
  Await(InvalidReason::kChanged, other);  // its ctime
}

TEST_P(Invalidated, TellsNamesThatLeadElsewhere) {
  const NodeId d = IdOf("d"), e = IdOf("e");
  EXPECT_EQ(StatError("d/absent"), std::errc::no_such_file_or_directory);
  std::filesystem::remove(Backing("d/other"));
  MakeFile("d/third");
  std::filesystem::rename(Backing("d/third"), Backing("d/file"));
  MakeFile("d/absent");
  std::filesystem::rename(Backing("d/sub"), Backing("e/sub"));
  {
    const std::lock_guard lock(mutex_);
    events_.clear();
  }
  (void)Drain();
  EXPECT_EQ(StatError("d/other"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(StatError("d/file"), kOk);
  EXPECT_EQ(StatError("d/absent"), kOk);
  EXPECT_EQ(StatError("e/sub"), kOk);
  Await(InvalidReason::kName, d, "other");
  Await(InvalidReason::kName, d, "file");
  Await(InvalidReason::kName, d, "absent");
  Await(InvalidReason::kName, d, "sub");
  Await(InvalidReason::kChanged, d);
  Await(InvalidReason::kChanged, e);
}

TEST_P(Invalidated, TellsOfFilesThatAreGone) {
  auto node = client_->Resolve(Path("d/file"), root_);
  ASSERT_TRUE(node.has_value());
  const NodeId id = (*node)->id();
  std::filesystem::remove(Backing("d/file"));
  (void)Drain();
  EXPECT_EQ((*node)->Stat("", root_).error(), protocol::kStale);
  node->reset();
  Await(InvalidReason::kStale, id);
}

TEST_P(Invalidated, TellsOfNoNameThatItChangedItselfOrEvicted) {
  (void)Drain();
  (void)IdOf("d");
  const NodeId target = IdOf("e");
  (void)IdOf("d/file");
  const NodeId removed = IdOf("d/other");
  {
    const std::lock_guard lock(mutex_);
    events_.clear();
  }
  EXPECT_TRUE(client_->Create(Path("d/own"), 0600, true, root_).has_value());
  EXPECT_TRUE(client_->MakeDirectory(Path("d/dir"), 0700, root_).has_value());
  EXPECT_EQ(client_->Rename(Path("d/own"), Path("e/own"), root_), kOk);
  EXPECT_EQ(client_->Unlink(Path("d/other"), root_), kOk);
  EXPECT_TRUE(client_->SetAttributesOf(Path("d/file"), {.mode = 0600}, root_).has_value());
  client_->DropCaches();
  EXPECT_EQ(StatError("d/file"), kOk);
  // A reply that does not say that its change was the only one tells of the directory as changed;
  // then the file that was moved or removed may have been another than the one known (NAME-19).
  for (const Invalidation& event : Drain()) {
    const bool is_in_doubt =
        (event.reason == InvalidReason::kName && event.node == target && event.name == "own") ||
        (event.reason == InvalidReason::kAttributes && event.node == removed);
    EXPECT_TRUE(is_in_doubt || event.reason == InvalidReason::kEverything ||
                event.reason == InvalidReason::kChanged)
        << static_cast<int>(event.reason) << " " << event.node.fileid << " " << event.name;
  }
}

// The listener hangs, and makes calls of its own.
TEST_P(Invalidated, OverflowIsDeliveredAsEverything) {
  std::mutex gate;
  std::vector<Invalidation> told;
  std::unique_lock closed(gate);
  std::condition_variable_any hangs;
  bool is_inside = false;
  ASSERT_EQ(client_->OnInvalidation(
                [&](const Invalidation& event) {
                  {
                    const std::lock_guard lock(mutex_);
                    is_inside = true;
                    told.push_back(event);
                    noted_.notify_all();
                  }
                  const std::lock_guard wait(gate);
                  EXPECT_EQ(StatError("d"), kOk);
                },
                4),
            kOk);
  client_->InvalidateCaches();
  {
    std::unique_lock lock(mutex_);
    noted_.wait(lock, [&] { return is_inside; });
  }
  for (int i = 0; i < 6; ++i) {
    const std::string name = "d/n" + std::to_string(i);
    EXPECT_EQ(StatError(name), std::errc::no_such_file_or_directory);
    MakeFile(name);
    client_->InvalidateCaches();
    EXPECT_EQ(StatError(name), kOk);
  }
  closed.unlock();
  {
    std::unique_lock lock(mutex_);
    noted_.wait(lock, [&] { return told.size() >= 2; });
    EXPECT_EQ(told[1].reason, InvalidReason::kEverything);
  }
  ASSERT_EQ(client_->OnInvalidation({}), kOk);
}

TEST_P(Invalidated, TheListenerCanBeReplacedAndRefused) {
  EXPECT_EQ(client_->OnInvalidation([](const auto&) {}, 0), std::errc::invalid_argument);
  EXPECT_EQ(client_->OnInvalidation([](const auto&) {}, SIZE_MAX / 2),
            std::errc::not_enough_memory);
  std::errc inside = kOk;
  ASSERT_EQ(client_->OnInvalidation([&](const Invalidation& event) {
    inside = client_->OnInvalidation({});
    Note(event);
  }),
            kOk);
  (void)Drain();
  EXPECT_EQ(inside, std::errc::resource_deadlock_would_occur);
  ASSERT_EQ(client_->OnInvalidation({}), kOk);
  client_->InvalidateCaches();
  ASSERT_EQ(client_->OnInvalidation([this](const Invalidation& event) { Note(event); }), kOk);
  EXPECT_EQ(Drain().size(), 1u);  // none of what came without a listener
}

}  // namespace
}  // namespace nfswalk
