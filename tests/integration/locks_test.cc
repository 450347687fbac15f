// Byte-range locks of open files against a real server: fcntl(2), nfs(5).

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

constexpr std::errc kDenied = std::errc::resource_unavailable_try_again;
constexpr LockType kRead = LockType::kRead;
constexpr LockType kWrite = LockType::kWrite;
// Owners.
constexpr uint64_t kMe = 1, kYou = 2, kThird = 3;

class Locks : public fixtures::ExportClient {
 protected:
  void SetUp() override {
    ExportClient::SetUp();
    if (client_ == nullptr) return;
    MakeFile("file", "hello");
    std::filesystem::permissions(Backing("file"), std::filesystem::perms::all);
  }
  std::unique_ptr<File> Open(Client& client, uint32_t rights = kMayRead | kMayWrite) {
    auto file = client.Open(Path("file"), rights, root_);
    EXPECT_TRUE(file.has_value());
    return file ? std::move(*file) : nullptr;
  }
  static std::errc Write(File& file, std::string_view text) {
    const auto count = file.PWrite(std::as_bytes(std::span(text)), 0);
    return count ? kOk : count.error();
  }
  // Returns once `client` has sent `calls` more than now while `act` runs on a thread of its own.
  static std::thread While(Client& client, uint64_t calls, std::function<void()> act) {
    const uint64_t before = client.stats().rpcs;
    std::thread thread(std::move(act));
    while (client.stats().rpcs < before + calls) std::this_thread::yield();
    return thread;
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, Locks, fixtures::AllVersions(), fixtures::VersionTestName);

// Other clients see the locks of version 4 only.
class SharedLocks : public Locks {
 protected:
  void SetUp() override {
    Locks::SetUp();
    if (IsSkipped()) return;
    yours_ = Mount("actimeo=600");
    ASSERT_NE(yours_, nullptr);
    my_file_ = Open(*client_);
    your_file_ = Open(*yours_);
    ASSERT_TRUE(my_file_ && your_file_);
  }
  void TearDown() override {
    my_file_.reset();
    your_file_.reset();
  }

  std::unique_ptr<Client> yours_;
  std::unique_ptr<File> my_file_, your_file_;
};

INSTANTIATE_TEST_SUITE_P(Versions, SharedLocks, testing::Values(4), fixtures::VersionTestName);

TEST_P(Locks, OwnersOfOneClientExcludeEachOther) {
  const auto file = Open(*client_);
  EXPECT_EQ(file->TryLock(kMe, kWrite, 10, 10), kOk);
  EXPECT_EQ(file->TryLock(kYou, kRead, 19, 1), kDenied);
  EXPECT_EQ(file->TryLock(kYou, kWrite, 20, 0), kOk);
  EXPECT_EQ(file->TryLock(kYou, kWrite, 0, 10), kOk);
  EXPECT_EQ(file->TryLock(kMe, kRead, 10, 11), kDenied);
  const auto conflict = file->TestLock(kYou, kRead, 0, 0);
  ASSERT_TRUE(conflict && *conflict);
  EXPECT_EQ((*conflict)->type, kWrite);
  EXPECT_EQ((*conflict)->offset_bytes, 10u);
  EXPECT_EQ((*conflict)->length_bytes, 10u);
  EXPECT_EQ((*conflict)->owner, kMe);
  EXPECT_EQ(file->Unlock(kMe, 0, 0), kOk);
  EXPECT_EQ(file->TestLock(kYou, kRead, 0, 0).value(), std::nullopt);
  EXPECT_EQ(file->TryLock(kYou, kRead, 19, 1), kOk);
}

TEST_P(Locks, AnOwnerUsesAnyFileAndLosesAllWhenOneOfThemIsClosed) {
  auto first = Open(*client_);
  const auto second = Open(*client_);
  const auto third = Open(*client_);
  EXPECT_EQ(first->TryLock(kMe, kWrite, 0, 10), kOk);
  EXPECT_EQ(second->TryLock(kMe, kWrite, 5, 10), kOk);
  EXPECT_EQ(third->TryLock(kYou, kRead, 0, 1), kDenied);
  EXPECT_EQ(third->TryLock(kYou, kRead, 14, 1), kDenied);
  first.reset();
  EXPECT_EQ(third->TryLock(kYou, kRead, 0, 1), kOk);
  EXPECT_EQ(third->TryLock(kYou, kRead, 14, 1), kOk);
  EXPECT_EQ(second->TryLock(kMe, kRead, 0, 20), kOk);
}

// As a process closes one descriptor of several: the end of the file comes later.
TEST_P(Locks, LocksReleasedByOneFileAreNotReleasedAgain) {
  auto first = Open(*client_);
  const auto second = Open(*client_);
  const auto third = Open(*client_);
  EXPECT_EQ(first->TryLock(kMe, kWrite, 0, 10), kOk);
  EXPECT_EQ(second->TryLock(kMe, kWrite, 10, 10), kOk);
  third->ReleaseLocks(kMe);  // which it has not locked by
  EXPECT_EQ(third->TryLock(kYou, kWrite, 0, 20), kOk);
  EXPECT_EQ(third->Unlock(kYou, 0, 0), kOk);
  EXPECT_EQ(first->TryLock(kMe, kWrite, 0, 10), kOk);
  first->ReleaseLocks(kMe);
  EXPECT_EQ(second->TryLock(kMe, kWrite, 0, 10), kOk);
  first.reset();
  EXPECT_EQ(third->TryLock(kYou, kRead, 0, 1), kDenied);
}

TEST_P(Locks, ClosingAFileLeavesWhatOthersLocked) {
  auto first = Open(*client_);
  const auto second = Open(*client_);
  EXPECT_EQ(first->TryLock(kMe, kWrite, 0, 10), kOk);
  EXPECT_EQ(second->TryLock(kYou, kWrite, 10, 10), kOk);
  EXPECT_EQ(first->Close(), kOk);
  first.reset();
  EXPECT_EQ(second->TryLock(kMe, kWrite, 10, 10), kDenied);
}

TEST_P(Locks, AWaiterGetsTheLockThatAnotherOwnerOfItsClientReleases) {
  const auto file = Open(*client_);
  ASSERT_EQ(file->TryLock(kMe, kWrite, 0, 0), kOk);
  std::thread waiter([&] {
    EXPECT_EQ(file->Lock(kYou, kWrite, 0, 0), kOk);
    EXPECT_EQ(file->Unlock(kYou, 0, 0), kOk);
  });
  EXPECT_EQ(file->Unlock(kMe, 0, 0), kOk);
  waiter.join();
  EXPECT_EQ(file->TryLock(kMe, kWrite, 0, 0), kOk);
}

TEST_P(Locks, AWaiterThatItsBlockerWaitsForIsADeadlock) {
  const auto file = Open(*client_);
  ASSERT_EQ(file->TryLock(kMe, kWrite, 0, 1), kOk);
  ASSERT_EQ(file->TryLock(kYou, kWrite, 1, 1), kOk);
  std::errc errors[2];
  const auto lock = [&](uint64_t owner, uint64_t offset, std::errc& error) {
    error = file->Lock(owner, kWrite, offset, 1);
    EXPECT_EQ(file->Unlock(owner, 0, 0), kOk);
  };
  std::thread other(lock, kYou, 0, std::ref(errors[0]));
  lock(kMe, 1, errors[1]);
  other.join();
  const bool one = (errors[0] == std::errc::resource_deadlock_would_occur) !=
                   (errors[1] == std::errc::resource_deadlock_would_occur);
  // Unless the first was done before the second came.
  EXPECT_TRUE(one || (errors[0] == kOk && errors[1] == kOk));
}

TEST_P(Locks, AWaitEndsWithTheDeadlineACancellationOrTheClient) {
  const auto file = Open(*client_);
  ASSERT_EQ(file->TryLock(kMe, kWrite, 0, 0), kOk);
  {
    const Deadline passed(Deadline::Clock::now());
    EXPECT_EQ(file->Lock(kYou, kRead, 0, 0), std::errc::timed_out);
  }
  Cancellation cancellation;
  std::thread canceled([&] {
    const CancelScope scope(cancellation);
    EXPECT_EQ(file->Lock(kYou, kRead, 0, 0), std::errc::operation_canceled);
  });
  cancellation.Cancel();
  canceled.join();
  std::thread shut_down(
      [&] { EXPECT_EQ(file->Lock(kYou, kRead, 0, 0), std::errc::operation_canceled); });
  client_->Shutdown();
  shut_down.join();
  EXPECT_EQ(file->Unlock(kMe, 0, 0), std::errc::operation_canceled);
}

TEST_P(Locks, RangesAndRightsAreThoseOfFcntl) {
  const auto file = Open(*client_);
  EXPECT_EQ(file->TryLock(kMe, kRead, kFileBytesMax, 1), kOk);
  EXPECT_EQ(file->TryLock(kMe, kRead, kFileBytesMax, 0), kOk);
  EXPECT_EQ(file->TryLock(kMe, kRead, kFileBytesMax, 2), std::errc::value_too_large);
  EXPECT_EQ(file->TryLock(kMe, kRead, 0, UINT64_MAX), std::errc::value_too_large);
  EXPECT_EQ(file->TryLock(kMe, kRead, kFileBytesMax + 1, 1), std::errc::invalid_argument);
  EXPECT_EQ(file->Unlock(kMe, kFileBytesMax + 1, 1), std::errc::invalid_argument);
  EXPECT_EQ(file->Unlock(kMe, 1, kFileBytesMax + 1), std::errc::value_too_large);
  EXPECT_EQ(file->TestLock(kMe, kRead, 1, kFileBytesMax + 1).error(), std::errc::value_too_large);
  const auto reader = Open(*client_, kMayRead);
  EXPECT_EQ(reader->TryLock(kYou, kWrite, 0, 1), std::errc::bad_file_descriptor);
  EXPECT_EQ(reader->TryLock(kYou, kRead, 0, 1), kOk);
  const auto writer = Open(*client_, kMayWrite);
  EXPECT_EQ(writer->TryLock(kThird, kRead, 8, 1), std::errc::bad_file_descriptor);
  EXPECT_EQ(writer->TryLock(kThird, kWrite, 8, 1), kOk);
}

// nolock, as nfs(5) has it.
TEST_P(Locks, LocksOfVersion3HoldInTheirClientAlone) {
  const auto file = Open(*client_);
  const auto other_client = Mount("nolock");
  ASSERT_NE(other_client, nullptr);
  const auto other = Open(*other_client);
  ASSERT_EQ(file->TryLock(kMe, kWrite, 0, 0), kOk);
  EXPECT_EQ(other->TryLock(kMe, kWrite, 0, 0), version() == 3 ? kOk : kDenied);
}

TEST_P(SharedLocks, ClientsExcludeEachOther) {
  EXPECT_EQ(my_file_->TryLock(kMe, kWrite, 10, 10), kOk);
  EXPECT_EQ(your_file_->TryLock(kMe, kRead, 0, 0), kDenied);
  const auto conflict = your_file_->TestLock(kMe, kRead, 0, 0);
  ASSERT_TRUE(conflict && *conflict);
  EXPECT_EQ((*conflict)->type, kWrite);
  EXPECT_EQ((*conflict)->offset_bytes, 10u);
  EXPECT_EQ((*conflict)->length_bytes, 10u);
  EXPECT_EQ((*conflict)->owner, std::nullopt);
  EXPECT_EQ(your_file_->TryLock(kMe, kWrite, 20, 0), kOk);
  const auto yours = my_file_->TestLock(kMe, kWrite, 0, 0);
  ASSERT_TRUE(yours.has_value()) << static_cast<int>(yours.error());
  ASSERT_TRUE(yours->has_value());
  EXPECT_EQ((*yours)->offset_bytes, 20u);
  EXPECT_EQ((*yours)->length_bytes, 0u);
  EXPECT_EQ(my_file_->TestLock(kMe, kWrite, 0, 20).value(), std::nullopt);
}

TEST_P(SharedLocks, LocksAreUpgradedAndDowngraded) {
  EXPECT_EQ(my_file_->TryLock(kMe, kRead, 0, 10), kOk);
  EXPECT_EQ(your_file_->TryLock(kMe, kRead, 5, 10), kOk);
  EXPECT_EQ(my_file_->TryLock(kMe, kWrite, 0, 10), kDenied);
  EXPECT_EQ(my_file_->TryLock(kMe, kWrite, 0, 5), kOk);
  EXPECT_EQ(your_file_->TryLock(kMe, kRead, 4, 1), kDenied);
  EXPECT_EQ(my_file_->TryLock(kMe, kRead, 0, 10), kOk);
  EXPECT_EQ(your_file_->TryLock(kMe, kRead, 4, 1), kOk);
}

TEST_P(SharedLocks, AnUnlockInTheMiddleLeavesBothEnds) {
  EXPECT_EQ(my_file_->TryLock(kMe, kWrite, 0, 30), kOk);
  EXPECT_EQ(my_file_->Unlock(kMe, 10, 10), kOk);
  EXPECT_EQ(your_file_->TryLock(kMe, kWrite, 9, 2), kDenied);
  EXPECT_EQ(your_file_->TryLock(kMe, kWrite, 19, 2), kDenied);
  EXPECT_EQ(your_file_->TryLock(kMe, kWrite, 10, 10), kOk);
  EXPECT_EQ(my_file_->Unlock(kMe, 0, 0), kOk);
  EXPECT_EQ(your_file_->TryLock(kMe, kWrite, 0, 0), kOk);
}

TEST_P(SharedLocks, CloseUnlocks) {
  ASSERT_EQ(my_file_->TryLock(kMe, kWrite, 0, 10), kOk);
  ASSERT_EQ(my_file_->TryLock(kYou, kWrite, 10, 10), kOk);
  EXPECT_EQ(my_file_->Close(), kOk);
  EXPECT_EQ(your_file_->TryLock(kMe, kWrite, 0, 0), kOk);
}

TEST_P(SharedLocks, AWaiterGetsTheLockThatAnotherClientReleases) {
  ASSERT_EQ(my_file_->TryLock(kMe, kWrite, 0, 0), kOk);
  std::thread waiter =
      While(*yours_, 2, [&] { EXPECT_EQ(your_file_->Lock(kMe, kWrite, 0, 0), kOk); });
  EXPECT_EQ(my_file_->Unlock(kMe, 0, 0), kOk);
  waiter.join();
  EXPECT_EQ(my_file_->TryLock(kMe, kRead, 0, 1), kDenied);
}

TEST_P(SharedLocks, ACanceledWaiterHoldsNothing) {
  ASSERT_EQ(my_file_->TryLock(kMe, kWrite, 0, 0), kOk);
  Cancellation cancellation;
  std::thread waiter = While(*yours_, 2, [&] {
    const CancelScope scope(cancellation);
    EXPECT_EQ(your_file_->Lock(kMe, kWrite, 0, 0), std::errc::operation_canceled);
  });
  cancellation.Cancel();
  waiter.join();
  EXPECT_EQ(my_file_->Unlock(kMe, 0, 0), kOk);
  // At the latest once a LOCK that was in flight is undone.
  EXPECT_EQ(my_file_->Lock(kYou, kWrite, 0, 0), kOk);
}

// WIRE-27. Caches are valid for ten minutes on these mounts.
TEST_P(SharedLocks, ALockShowsWhatTheLastOwnerWrote) {
  EXPECT_EQ(Text(*your_file_), "hello");
  ASSERT_EQ(my_file_->Lock(kMe, kWrite, 0, 0), kOk);
  EXPECT_EQ(Write(*my_file_, "hello, you"), kOk);
  EXPECT_EQ(my_file_->Unlock(kMe, 0, 0), kOk);
  ASSERT_EQ(your_file_->Lock(kMe, kRead, 0, 0), kOk);
  const auto attributes = yours_->Stat(Path("file"), root_);  // before a READ shows them
  ASSERT_TRUE(attributes.has_value());
  EXPECT_EQ(attributes->size_bytes, 10u);
  EXPECT_EQ(Text(*your_file_), "hello, you");
}

// The first LOCK of an owner, and the last LOCKU, are one call each, like those between.
TEST_P(SharedLocks, ALockAndAnUnlockAreACallEach) {
  const uint64_t before = client_->stats().rpcs;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(my_file_->TryLock(kMe, kWrite, 0, 10), kOk);
    EXPECT_EQ(my_file_->TryLock(kMe, kWrite, 20, 10), kOk);
    EXPECT_EQ(my_file_->Unlock(kMe, 0, 10), kOk);
    EXPECT_EQ(my_file_->Unlock(kMe, 20, 10), kOk);
    EXPECT_EQ(my_file_->Unlock(kMe, 0, 0), kOk);
  }
  EXPECT_EQ(client_->stats().rpcs - before, 12u);
}

}  // namespace
}  // namespace nfswalk
