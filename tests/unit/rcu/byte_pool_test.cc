#include "rcu/byte_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "rcu/allocation_fault.h"
#include "rcu/read_guard.h"

namespace nfswalk::rcu {
namespace {

TEST(BytePool, KeepsEveryLengthWordAlignedAndZeroPadded) {
  BytePool pool;
  // The second round gets memory full of old text.
  for (int round = 0; round < 2; ++round) {
    for (size_t size = 0; size <= BytePool::kMaxBytes; size += size < 300 ? 1 : 61) {
      const std::string text(size, static_cast<char>('a' + size % 26));
      ByteString* const string = pool.Allocate(text);
      ASSERT_NE(string, nullptr);
      ASSERT_EQ(string->view(), text);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(string->data()) % 8, 0u);
      const size_t end = (size / 8 + 1) * 8;
      for (size_t i = size; i < end; ++i) ASSERT_EQ(string->data()[i], '\0');
      pool.FreeDeferred(string);
    }
    Barrier();
  }
  EXPECT_EQ(pool.live(), 0u);
}

TEST(BytePool, NeighboursDoNotOverlap) {
  BytePool pool;
  static_assert(BytePool::kMaxBytes == 4096);
  for (const size_t size : {31, 32, 63, 64, 4095, 4096}) {  // at the bounds of size classes
    std::vector<ByteString*> strings;
    for (int i = 0; i < 4; ++i) strings.push_back(pool.Allocate(std::string(size, 'n')));
    for (ByteString* string : strings) {
      EXPECT_EQ(string->size, size);
      EXPECT_EQ(std::strlen(string->data()), size);
      pool.FreeDeferred(string);
    }
  }
}

TEST(BytePool, AReaderKeepsItsStringUntilItsSectionEnds) {
  BytePool pool;
  ByteString* const string = pool.Allocate("a name that a reader holds");
  {
    ReadGuard reader;
    pool.FreeDeferred(string);
    std::vector<ByteString*> others;
    for (int i = 0; i < 3000; ++i) others.push_back(pool.Allocate("a name of another ....."));
    EXPECT_EQ(string->view(), "a name that a reader holds");
    for (ByteString* other : others) pool.FreeDeferred(other);
  }
  Barrier();
  EXPECT_EQ(pool.live(), 0u);
}

TEST(BytePool, HandsMemoryBack) {
  BytePool pool;
  std::vector<ByteString*> strings;
  for (int i = 0; i < 1000; ++i) strings.push_back(pool.Allocate(std::string(1000, 'n')));
  const size_t full = pool.capacity_bytes();
  for (ByteString* string : strings) pool.FreeDeferred(string);
  Barrier();
  Barrier();  // slabs retired by the callbacks of the first Barrier()
  EXPECT_LT(pool.capacity_bytes(), full / 4);
}

#ifndef NDEBUG
TEST(BytePool, AnswersNullWithoutMemory) {
  BytePool pool;
  AllocationFault::FailAfter(0);
  EXPECT_EQ(pool.Allocate("name"), nullptr);
  AllocationFault::Clear();
}
#endif

}  // namespace
}  // namespace nfswalk::rcu
