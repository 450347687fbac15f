#include "rcu/byte_pool.h"

#include <cassert>
#include <cstring>
#include <new>

namespace nfswalk::rcu {

namespace {

// Bytes of a string with `size` characters: the text and its NUL in whole words.
constexpr size_t TextBytes(size_t size) { return (size / 8 + 1) * 8; }

// Text bytes of each size class. The last holds kMaxBytes, which is PATH_MAX.
constexpr std::array<size_t, 8> kTextBytes = {32,  64,   128,  256,
                                              512, 1024, 2048, TextBytes(BytePool::kMaxBytes)};

SlabPool::Layout LayoutOf(size_t size_class) {
  return {.object_bytes = sizeof(ByteString) + kTextBytes[size_class],
          .alignment = alignof(ByteString),
          .construct = [](void* object) { ::new (object) ByteString; },
          .destroy = [](void*) {}};
}

}  // namespace

BytePool::BytePool()
    : size_classes_{SlabPool(LayoutOf(0)), SlabPool(LayoutOf(1)), SlabPool(LayoutOf(2)),
                    SlabPool(LayoutOf(3)), SlabPool(LayoutOf(4)), SlabPool(LayoutOf(5)),
                    SlabPool(LayoutOf(6)), SlabPool(LayoutOf(7))} {
  static_assert(kTextBytes.size() == kSizeClasses);
}

ByteString* BytePool::Allocate(std::string_view bytes) {
  assert(bytes.size() <= kMaxBytes);
  const size_t text_bytes = TextBytes(bytes.size());
  size_t size_class = 0;
  while (kTextBytes[size_class] < text_bytes) ++size_class;
  auto* const string = static_cast<ByteString*>(size_classes_[size_class].Allocate());
  if (string == nullptr) return nullptr;
  string->size = bytes.size();
  char* const text = reinterpret_cast<char*>(string + 1);
  std::memset(text + text_bytes - 8, 0, 8);
  if (!bytes.empty()) std::memcpy(text, bytes.data(), bytes.size());
  return string;
}

void BytePool::FreeDeferred(ByteString* string) { SlabPool::FreeDeferred(string); }

void BytePool::Trim() {
  for (SlabPool& size_class : size_classes_) size_class.Trim();
}

size_t BytePool::live() const {
  size_t live = 0;
  for (const SlabPool& size_class : size_classes_) live += size_class.live();
  return live;
}

size_t BytePool::capacity_bytes() const {
  size_t bytes = 0;
  for (const SlabPool& size_class : size_classes_) bytes += size_class.capacity_bytes();
  return bytes;
}

}  // namespace nfswalk::rcu
