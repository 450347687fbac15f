#include "nfsclient/icache/inode.h"

#include <algorithm>
#include <cstring>

namespace nfswalk::icache {

namespace {
uint64_t Pack(uint32_t high, uint32_t low) { return (uint64_t{high} << 32) | low; }
uint32_t High(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
uint32_t Low(uint64_t word) { return static_cast<uint32_t>(word); }
}  // namespace

void AttributeWords::Store(const protocol::Attributes& a) {
  const std::array<uint64_t, kWords> words = {
      Pack(static_cast<uint32_t>(a.type) << 16 | a.mode, a.nlink),
      Pack(a.uid, a.gid),
      a.size_bytes,
      a.used_bytes,
      Pack(a.rdev_major, a.rdev_minor),
      a.fsid,
      a.fileid,
      static_cast<uint64_t>(a.atime.seconds),
      static_cast<uint64_t>(a.mtime.seconds),
      static_cast<uint64_t>(a.ctime.seconds),
      Pack(a.atime.nanoseconds, a.mtime.nanoseconds),
      a.ctime.nanoseconds,
      a.change,
  };
  for (size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_relaxed);
}

void AttributeWords::Load(protocol::Attributes& a) const {
  auto word = [this](size_t i) { return words_[i].load(std::memory_order_relaxed); };
  uint64_t first = word(0), owner = word(1), rdev = word(4), nanoseconds = word(10);
  a.type = static_cast<protocol::FileType>(High(first) >> 16);
  a.mode = High(first) & 0xffff;
  a.nlink = Low(first);
  a.uid = High(owner);
  a.gid = Low(owner);
  a.size_bytes = word(2);
  a.used_bytes = word(3);
  a.rdev_major = High(rdev);
  a.rdev_minor = Low(rdev);
  a.fsid = word(5);
  a.fileid = word(6);
  a.atime = {static_cast<int64_t>(word(7)), High(nanoseconds)};
  a.mtime = {static_cast<int64_t>(word(8)), Low(nanoseconds)};
  a.ctime = {static_cast<int64_t>(word(9)), static_cast<uint32_t>(word(11))};
  a.change = word(12);
}

rcu::ByteString* Inode::long_handle() const {
  if (handle_size <= kInlineHandle) return nullptr;
  rcu::ByteString* elsewhere;
  std::memcpy(&elsewhere, handle_bytes.data(), sizeof elsewhere);
  return elsewhere;
}

std::span<const uint8_t> Inode::HandleBytes() const {
  const rcu::ByteString* elsewhere = long_handle();
  return {elsewhere != nullptr ? reinterpret_cast<const uint8_t*>(elsewhere->data())
                               : handle_bytes.data(),
          handle_size};
}

protocol::FileHandle Inode::handle() const { return protocol::FileHandle(HandleBytes()); }

bool Inode::HasHandle(const protocol::FileHandle& other) const {
  return std::ranges::equal(HandleBytes(), other.bytes());
}

}  // namespace nfswalk::icache
