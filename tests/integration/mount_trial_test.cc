// `nfswalk mount` with small pieces and a small limit of dirty data: random programs of system calls
// against a model, over a real server of both versions. --gtest_random_seed gives others.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fixtures/overlap_trial.h"
#include "tests/fixtures/sparse_file.h"
#include "tests/integration/mount_pair.h"
#include "tests/integration/twin_program.h"

namespace nfswalk {
namespace {

#ifdef NFSWALK_TEST_NIGHTLY
constexpr int kOperations = 300'000;  // for each thread and setting
constexpr int kKills = 30;
#else
constexpr int kOperations = 3'000;
constexpr int kKills = 3;
#endif

// The bytes of a piece (wsize and rsize), and those that may be dirty.
struct Limits {
  const char* name;
  size_t piece_bytes, dirty_bytes;
};
constexpr Limits kLimits[] = {{"4Kx8", 4096, 32'768},
                              {"16Kx64", 16'384, 1 << 20},
                              {"64Kx8", 65'536, 1 << 19},
                              {"1Mx2", 1 << 20, 1 << 21}};

class MountTrial : public MountPair {
 protected:
  static std::string OptionsOf(const Limits& limits) {
    return fmt::format("hard,wsize={0},rsize={0},dirty_bytes={1}", limits.piece_bytes,
                       limits.dirty_bytes);
  }
  void MountWith(const Limits& limits) { Mount(OptionsOf(limits)); }
  TwinProgram::Setup SetupOf(const std::string& name) {
    return {.mounted = At(name),
            .model = models_.At(name),
            .seed = Seed(),
            .difference = [seen = Backing(name).string(), expected = models_.At(name)] {
              return fixtures::SparseDifference(seen, expected);
            }};
  }
  uint64_t Seed() {
    const auto base = static_cast<uint64_t>(testing::UnitTest::GetInstance()->random_seed());
    return 1000 * base + 100 * static_cast<uint64_t>(GetParam()) + seeds_++;
  }

  const ModelDirectory models_;
  uint64_t seeds_ = 0;
};

TEST_P(MountTrial, RandomProgramsMatchTheModel) {
  for (const Limits& limits : kLimits) {
    SCOPED_TRACE(limits.name);
    MountWith(limits);
    {
      TwinProgram::Setup setup = SetupOf(limits.name);
      setup.window_bytes = static_cast<off_t>(4 * limits.dirty_bytes);
      TwinProgram program(std::move(setup));
      program.Run(kOperations);
      program.Close();
    }
    EXPECT_EQ(Unmount(), 0);
    if (HasFailure()) return;
  }
}

TEST_P(MountTrial, RandomProgramsMatchTheModelBehindFourGigabytes) {
  MountWith(kLimits[1]);
  TwinProgram::Setup setup = SetupOf("far");
  constexpr off_t kWindow = 1 << 18;
  for (const int bits : {31, 32, 33, 40}) setup.from.push_back((off_t{1} << bits) - kWindow / 2);
  setup.window_bytes = kWindow;
  TwinProgram program(std::move(setup));
  program.Run(2 * kOperations);
  program.Close();
}

// Each has a file; they share what may be dirty.
TEST_P(MountTrial, RandomProgramsBesideEachOtherMatchTheirModels) {
  MountWith(kLimits[1]);
  std::vector<std::jthread> threads;
  for (const char* name : {"a", "b", "c"}) {
    threads.emplace_back([setup = SetupOf(name)] {
      TwinProgram program(setup);
      program.Run(kOperations);
      program.Close();
    });
  }
}

// Two files of each of two clients, of 256 MiB together: thousands of times what may be dirty.
TEST_P(MountTrial, RandomProgramsOfTwoClientsBesideEachOtherMatchTheirModels) {
  MountBoth(OptionsOf(kLimits[0]));
  std::vector<std::jthread> threads;
  for (const std::string name : {"a", "b", "c", "d"}) {
    TwinProgram::Setup setup = SetupOf(name);
    if (threads.size() % 2 == 1) setup.mounted = Other(name);
    setup.window_bytes = 1 << 26;
    setup.large_bytes = 1 << 20;
    threads.emplace_back([setup = std::move(setup)] {
      TwinProgram program(setup);
      program.Run(kOperations / 6);  // up to a MiB each
      program.Close();
    });
  }
}

// By processes: descriptors of this one would be closed, and so wait for the server, when the process
// that starts it anew begins. nfs-ganesha keeps what was written UNSTABLE, as the files are the
// kernel's: its loss is in mount_loss_test.
TEST_P(MountTrial, RandomProgramsOutliveTheServer) {
  MountWith(kLimits[1]);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Descriptor steps(ends[0]);
  std::vector<std::unique_ptr<Child>> programs;
  const std::array names = {"a", "b", "c"};
  for (const char* name : names) {
    TwinProgram::Setup setup = SetupOf(name);
    // A server without a grace period opens files by the names that they had.
    setup.renames = GetParam() == 3;
    setup.between = [step = ends[1]] { EXPECT_EQ(write(step, "", 1), 1); };
    programs.push_back(std::make_unique<Child>([&] {
      TwinProgram program(setup);
      program.Run(kOperations);
      program.Close();
      return HasFailure() ? 1 : 0;
    }));
  }
  close(ends[1]);
  const int steps_of_life = kOperations * static_cast<int>(names.size()) / (kKills + 1);
  char step;
  for (int made = 1; read(steps.fd, &step, 1) == 1; ++made) {
    if (made % steps_of_life != 0) continue;
    server_->Kill();
    ASSERT_EQ(server_->Restart(), "");
  }
  for (const auto& program : programs) EXPECT_EQ(program->Wait(), 0);
}

// The descriptors of a thread. Reads go past the kernel's pages: fs/fuse/file.c unlocks a page that a
// write(2) has changed before it sends the WRITE, so that a READ of the page, where it was dropped
// meanwhile, brings back its old contents for good.
class OverlapDescriptor : public fixtures::OverlapFile {
 public:
  explicit OverlapDescriptor(const std::string& path)
      : path_(path),
        file_(open(path.c_str(), O_RDWR | O_CLOEXEC)),
        direct_(open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC)) {}

  bool Write(std::span<const std::byte> data, uint64_t offset_bytes) override {
    return pwrite(file_.fd, data.data(), data.size(), static_cast<off_t>(offset_bytes)) ==
           static_cast<ssize_t>(data.size());
  }
  std::optional<size_t> Read(std::span<std::byte> into, uint64_t offset_bytes) override {
    const ssize_t count =
        pread(direct_.fd, into.data(), into.size(), static_cast<off_t>(offset_bytes));
    return count < 0 ? std::nullopt : std::optional(static_cast<size_t>(count));
  }
  bool Truncate(uint64_t size_bytes) override {
    return ftruncate(file_.fd, static_cast<off_t>(size_bytes)) == 0;
  }
  bool Sync() override { return fsync(file_.fd) == 0; }
  bool Stat() override {
    struct stat found{};
    return stat(path_.c_str(), &found) == 0;
  }

 private:
  const std::string path_;
  const Descriptor file_, direct_;
};

class MountOverlap : public MountTrial {
 protected:
  void RunThreads(uint64_t operations_of_truncation) {
    for (const Limits& limits : {kLimits[0], kLimits[2]}) {
      SCOPED_TRACE(limits.name);
      MountWith(limits);
      File(limits.name);
      fixtures::WriteHistory history(fixtures::OverlapTrial::kCells);
      std::vector<std::jthread> threads;
      for (int thread = 0; thread < 3; ++thread) {
        threads.emplace_back([&, seed = Seed()] {
          OverlapDescriptor file(At(limits.name));
          fixtures::OverlapTrial(history, file, seed).Run(kOperations / 2, operations_of_truncation);
        });
      }
      threads.clear();
      EXPECT_EQ(Unmount(), 0);
      fixtures::ExpectLatest(history, TextOf(Backing(limits.name)));
      if (HasFailure()) return;
    }
  }
};

TEST_P(MountOverlap, EachByteIsOfAWriteThatNoOtherHasFollowed) { RunThreads(UINT64_MAX); }

TEST_P(MountOverlap, EachByteIsOfAWriteOrATruncationThatNoOtherHasFollowed) { RunThreads(100); }

INSTANTIATE_TEST_SUITE_P(Versions, MountTrial, fixtures::AllVersions(), fixtures::VersionTestName);
INSTANTIATE_TEST_SUITE_P(Versions, MountOverlap, fixtures::AllVersions(),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
