#include "tests/integration/twin_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

namespace nfswalk {
namespace {

constexpr int kOperationsOfPhase = 200;
constexpr size_t kListed = 100;
constexpr off_t kPage = 4096;

// Copies between the two, until all is done, the file ends, or a call fails.
long CopyAll(int from, off_t at, int to, off_t into, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t count = copy_file_range(from, &at, to, &into, bytes - done, 0);
    if (count < 0) return -1;
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return static_cast<long>(done);
}

}  // namespace

ModelDirectory::ModelDirectory() {
  const std::string in = access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : testing::TempDir();
  std::string pattern = in + "nfswalk_model_XXXXXX";
  EXPECT_NE(mkdtemp(pattern.data()), nullptr) << pattern;
  path_ = pattern;
}

ModelDirectory::~ModelDirectory() { std::filesystem::remove_all(path_); }

TwinProgram::TwinProgram(Setup setup) : setup_(std::move(setup)), random_(setup_.seed) {
  for (size_t which = 0; which < twins_.size(); ++which) {
    OpenTwin(which, O_RDWR | O_CREAT | (which == 1 ? O_APPEND : 0));
  }
}

TwinProgram::~TwinProgram() {
  for (const Twin& twin : twins_) {
    close(twin.mounted);
    close(twin.model);
  }
}

void TwinProgram::ExpectSame(long mounted, int mounted_error, long model, int model_error) const {
  EXPECT_EQ(mounted, model) << std::strerror(mounted_error) << ", " << std::strerror(model_error);
  EXPECT_EQ(mounted_error, model_error);
}

void TwinProgram::ExpectOnServer(const Twin& twin) const {
  if (twin.generation != generation_) return;  // its file was replaced by another
  EXPECT_EQ(setup_.difference(), "") << "on the server";
}

void TwinProgram::Note(std::string_view operation, off_t at, size_t bytes) {
  if (operations_.size() == kListed) operations_.pop_front();
  operations_.push_back({which_, operation, at, bytes});
}

std::string TwinProgram::Listed() const {
  std::ostringstream list;
  for (const Operation& operation : operations_) {
    list << "\n  " << operation.which << ": " << operation.name << " " << operation.at << " "
         << operation.bytes;
  }
  return list.str();
}

off_t TwinProgram::DrawOffset() {
  const off_t from = setup_.from[Draw(setup_.from.size())];
  return from + static_cast<off_t>(Draw(static_cast<size_t>(setup_.window_bytes)));
}

std::string TwinProgram::DrawText(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = random_();
    std::memcpy(text.data() + at, &word, std::min(sizeof word, bytes - at));
  }
  return text;
}

// Returns the size of the file that has the name now, from the model.
off_t TwinProgram::Size() const {
  struct stat found{};
  EXPECT_EQ(stat(setup_.model.c_str(), &found), 0);
  return found.st_size;
}

auto TwinProgram::Any() -> Twin& {
  which_ = Draw(twins_.size());
  return twins_[which_];
}

void TwinProgram::OpenTwin(size_t which, int flags) {
  Twin& twin = twins_[which];
  twin.mounted = open(setup_.mounted.c_str(), flags | O_CLOEXEC, 0644);
  EXPECT_GE(twin.mounted, 0) << std::strerror(errno);
  twin.model = open(setup_.model.c_str(), flags | O_CLOEXEC, 0644);
  twin.generation = generation_;
  twin.appends = (flags & O_APPEND) != 0;
}

void TwinProgram::CloseTwin(Twin& twin) {
  EXPECT_EQ(close(std::exchange(twin.mounted, -1)), 0) << std::strerror(errno);
  close(std::exchange(twin.model, -1));
  ExpectOnServer(twin);
}

void TwinProgram::Close() {
  for (Twin& twin : twins_) CloseTwin(twin);
}

void TwinProgram::WriteAt(off_t at, size_t bytes) {
  const Twin& twin = Any();
  Note(twin.appends ? "append" : "write", at, bytes);
  const std::string text = DrawText(bytes);
  Both(twin, [&](int fd) { return pwrite(fd, text.data(), text.size(), at); });
}

void TwinProgram::ReadAt(off_t at, size_t bytes) {
  const Twin& twin = Any();
  Note("read", at, bytes);
  std::string seen(bytes, '?'), expected(bytes, '?');
  Both(twin, [&](int fd) {
    return pread(fd, (fd == twin.mounted ? seen : expected).data(), bytes, at);
  });
  EXPECT_TRUE(seen == expected)
      << "the byte at " << at + (std::ranges::mismatch(seen, expected).in1 - seen.begin());
}

// Through a file in memory: where a page is missing that ends in EFAULT, and not in SIGBUS.
void TwinProgram::Map(off_t at, size_t bytes, const std::string& text) {
  const Twin& twin = twins_[which_];
  const off_t from = at / kPage * kPage;
  const size_t skipped = static_cast<size_t>(at - from), length = skipped + bytes;
  std::string seen(bytes, '?'), expected(bytes, '?');
  if (!text.empty()) {
    EXPECT_EQ(pwrite(scratch_.fd, text.data(), bytes, 0), static_cast<long>(bytes));
  }
  Both(twin, [&](int fd) -> long {
    void* const mapped = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, from);
    if (mapped == MAP_FAILED) return -1;
    char* const part = static_cast<char*>(mapped) + skipped;
    long count = text.empty() ? pwrite(scratch_.fd, part, bytes, 0)
                              : pread(scratch_.fd, part, bytes, 0);
    if (text.empty()) {
      std::string& shown = fd == twin.mounted ? seen : expected;
      count = pread(scratch_.fd, shown.data(), bytes, 0);
    } else if (setup_.syncs_mappings || Draw(2) == 0) {
      EXPECT_EQ(msync(mapped, length, MS_SYNC), 0);
    }
    munmap(mapped, length);
    return count;
  });
  EXPECT_TRUE(seen == expected) << "in a mapping at " << at;
}

void TwinProgram::Write() { WriteAt(DrawOffset(), DrawBytes()); }

// At the end, or less than a page behind it; anywhere once the file is as large as it gets.
void TwinProgram::WriteOn() {
  const off_t at = Size() + static_cast<off_t>(Draw(8) == 0 ? Draw(kPage) : 0);
  if (at > setup_.from.back() + setup_.window_bytes) return Write();
  WriteAt(at, DrawBytes());
}

// Twice, close to each other.
void TwinProgram::Patch() {
  const off_t at = DrawOffset();
  WriteAt(at, 100);
  WriteAt(at + 100 + static_cast<off_t>(Draw(kPage)), 100);
}

void TwinProgram::Append() {
  which_ = 1;
  if (!twins_[which_].appends) {
    CloseTwin(twins_[which_]);
    OpenTwin(which_, O_RDWR | O_APPEND);
  }
  const std::string text = DrawText(DrawBytes());
  Note("append", 0, text.size());
  Both(twins_[which_], [&](int fd) { return write(fd, text.data(), text.size()); });
  Both(twins_[which_], [&](int fd) { return lseek(fd, 0, SEEK_CUR); });
}

void TwinProgram::Read() { ReadAt(DrawOffset(), DrawBytes()); }

// So that it is read ahead of.
void TwinProgram::ReadOn() {
  off_t at = DrawOffset();
  for (size_t reads = 2 + Draw(8); reads > 0; --reads) {
    const size_t bytes = DrawBytes();
    ReadAt(at, bytes);
    at += static_cast<off_t>(bytes);
  }
}

void TwinProgram::MapWrite() {
  const Twin& twin = Any();
  const off_t at = DrawOffset(), end = lseek(twin.model, 0, SEEK_END);
  if (at >= end) return;
  const size_t bytes = std::min<size_t>(DrawBytes(), static_cast<size_t>(end - at));
  Note("write a mapping", at, bytes);
  Map(at, bytes, DrawText(bytes));
}

void TwinProgram::MapRead() {
  const Twin& twin = Any();
  const off_t at = DrawOffset(), end = lseek(twin.model, 0, SEEK_END);
  if (at >= end) return;
  const size_t bytes = std::min<size_t>(DrawBytes(), static_cast<size_t>(end - at));
  Note("read a mapping", at, bytes);
  Map(at, bytes, "");
}

void TwinProgram::Truncate() {
  const Twin& twin = Any();
  const off_t size = DrawOffset();
  Note("ftruncate", size);
  Both(twin, [&](int fd) { return ftruncate(fd, size); });
}

void TwinProgram::TruncateByName() {
  const off_t size = DrawOffset();
  Note("truncate", size);
  EXPECT_EQ(truncate(setup_.mounted.c_str(), size), 0);
  EXPECT_EQ(truncate(setup_.model.c_str(), size), 0);
}

// Before version 4.2 the C library writes, which does not go with O_APPEND.
void TwinProgram::Allocate() {
  const Twin& twin = Any();
  if (twin.appends || !setup_.allocates) return;
  const off_t at = DrawOffset();
  const size_t bytes = DrawBytes();
  Note("allocate", at, bytes);
  Both(twin, [&](int fd) { return posix_fallocate(fd, at, static_cast<off_t>(bytes)); });
}

// Punches a hole on both sides, where the server can.
void TwinProgram::PunchHole() {
  constexpr int kMode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  const Twin& twin = Any();
  const off_t at = DrawOffset();
  const auto bytes = static_cast<off_t>(DrawBytes());
  Note("punch hole", at, static_cast<size_t>(bytes));
  if (fallocate(twin.mounted, kMode, at, bytes) != 0) {
    EXPECT_EQ(errno, EOPNOTSUPP);
    return;
  }
  EXPECT_EQ(fallocate(twin.model, kMode, at, bytes), 0);
}

void TwinProgram::Sync() {
  const Twin& twin = Any();
  Note("fsync");
  Both(twin, [](int fd) { return fsync(fd); });
  ExpectOnServer(twin);
}

void TwinProgram::SyncData() {
  const Twin& twin = Any();
  Note("fdatasync");
  Both(twin, [](int fd) { return fdatasync(fd); });
  ExpectOnServer(twin);
}

void TwinProgram::Reopen() {
  Twin& twin = Any();
  Note("close and open");
  CloseTwin(twin);
  OpenTwin(which_, O_RDWR | (Draw(4) == 0 ? O_APPEND : 0));
}

void TwinProgram::OpenAnew() {
  Twin& twin = Any();
  Note("close and open with O_TRUNC");
  CloseTwin(twin);
  OpenTwin(which_, O_RDWR | O_TRUNC);
}

// Renames another file over this one, which two of the descriptors go on with.
void TwinProgram::Replace() {
  if (!setup_.renames) return;
  Twin& twin = Any();
  const std::string text = DrawText(DrawBytes());
  Note("rename over", 0, text.size());
  CloseTwin(twin);
  for (const std::string& path : {setup_.mounted, setup_.model}) {
    const std::string fresh = path + ".new";
    const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    EXPECT_EQ(pwrite(fd, text.data(), text.size(), 0), static_cast<long>(text.size()));
    EXPECT_EQ(close(fd), 0);
    EXPECT_EQ(rename(fresh.c_str(), path.c_str()), 0) << std::strerror(errno);
  }
  ++generation_;
  OpenTwin(which_, O_RDWR);
  ExpectOnServer(twin);
}

void TwinProgram::SeekEnd() {
  const Twin& twin = Any();
  Note("seek the end");
  Both(twin, [](int fd) { return lseek(fd, 0, SEEK_END); });
}

void TwinProgram::Stat() {
  const Twin& twin = Any();
  Note("fstat");
  Both(twin, [](int fd) {
    struct stat found{};
    return fstat(fd, &found) == 0 ? found.st_size : -1;
  });
}

// Within the file, or between it and the one before it.
void TwinProgram::Copy() {
  const Twin& from = Any();
  const Twin& to = Any();
  const off_t at = DrawOffset(), into = DrawOffset();
  const size_t bytes = std::min<size_t>(DrawBytes(), static_cast<size_t>(std::abs(at - into)));
  if (bytes == 0 || to.appends) return;
  Note("copy from", at, bytes);
  Note("copy to", into, bytes);
  Both(to, [&](int fd) {
    return CopyAll(fd == to.mounted ? from.mounted : from.model, at, fd, into, bytes);
  });
}

template <size_t size>
auto TwinProgram::DrawStep(const std::array<Weighed, size>& steps) -> Step {
  size_t all = 0;
  for (const Weighed& each : steps) all += each.weight;
  size_t drawn = Draw(all);
  for (const Weighed& each : steps) {
    if (drawn < each.weight) return each.step;
    drawn -= each.weight;
  }
  return nullptr;
}

void TwinProgram::Run(int operations) {
  using T = TwinProgram;
  constexpr std::array<Weighed, 20> kAll = {{
      {&T::Write, 20},   {&T::WriteOn, 4},        {&T::Patch, 2},    {&T::Append, 4},
      {&T::Read, 12},    {&T::ReadOn, 6},         {&T::MapWrite, 4}, {&T::MapRead, 4},
      {&T::Truncate, 4}, {&T::TruncateByName, 2}, {&T::Allocate, 1}, {&T::PunchHole, 1},
      {&T::Sync, 2},     {&T::SyncData, 1},       {&T::Reopen, 3},   {&T::OpenAnew, 1},
      {&T::Replace, 1},  {&T::SeekEnd, 3},        {&T::Stat, 3},     {&T::Copy, 3},
  }};
  // The descriptor that appends would ask the server for the end of the file each time.
  constexpr std::array<Weighed, 6> kOfStream = {{{&T::Write, 4},
                                                 {&T::WriteOn, 20},
                                                 {&T::Patch, 4},
                                                 {&T::Read, 10},
                                                 {&T::ReadOn, 4},
                                                 {&T::MapRead, 2}}};
  for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
    const bool streams = i / kOperationsOfPhase % 2 == 0;
    if (streams && i % kOperationsOfPhase == 0) {
      for (size_t which = 0; which < twins_.size(); ++which) {
        CloseTwin(twins_[which]);
        OpenTwin(which, O_RDWR);
      }
      if (Draw(2) == 0) Truncate();
    }
    setup_.between();
    (this->*(streams ? DrawStep(kOfStream) : DrawStep(kAll)))();
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "operation " << i << " with seed " << setup_.seed << ", after" << Listed();
    }
  }
}

}  // namespace nfswalk
