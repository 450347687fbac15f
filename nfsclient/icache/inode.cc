#include "nfsclient/icache/inode.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace nfswalk::icache {

namespace {
uint64_t Pack(uint32_t high, uint32_t low) { return (uint64_t{high} << 32) | low; }
uint32_t High(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
uint32_t Low(uint64_t word) { return static_cast<uint32_t>(word); }
}  // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // Inode need not be a standard-layout type
// The lines of inode.h.
static_assert(offsetof(Inode, access) + sizeof(Inode::access) == 64);
static_assert(offsetof(Inode, attributes) == 64);
static_assert(offsetof(Inode, handle_bytes) + sizeof(Inode::handle_bytes) == 192);
static_assert(offsetof(Inode, hash_next) == 192);
#pragma GCC diagnostic pop

// Bit 63: whole seconds below it. Else seconds since 1901-12-13 and, in 30 bits, nanoseconds.
namespace {
constexpr uint64_t kWholeSeconds = uint64_t{1} << 63;
constexpr int kNanosecondBits = 30;
constexpr int64_t kFirstSecond = -(int64_t{1} << 31);
constexpr int64_t kExactSeconds = int64_t{1} << (63 - kNanosecondBits);
constexpr uint32_t kNsPerSecond = 1'000'000'000;
constexpr int64_t kSecondsMax = int64_t{1} << 62;
}  // namespace

uint64_t PackTime(protocol::Time time) {
  const bool exact = time.seconds >= kFirstSecond && time.seconds < kFirstSecond + kExactSeconds;
  if (exact) [[likely]] {
    const auto since = static_cast<uint64_t>(time.seconds - kFirstSecond);
    // A server may send more than a second of them.
    const uint64_t ns = time.nanoseconds < kNsPerSecond ? time.nanoseconds : 0;
    return since << kNanosecondBits | ns;
  }
  const int64_t seconds = std::clamp(time.seconds, -kSecondsMax, kSecondsMax - 1);
  return static_cast<uint64_t>(seconds) | kWholeSeconds;
}

protocol::Time UnpackTime(uint64_t packed) {
  // Sign extension from bit 62.
  if ((packed & kWholeSeconds) != 0) [[unlikely]]
    return {static_cast<int64_t>(packed << 1) >> 1, 0};
  return {static_cast<int64_t>(packed >> kNanosecondBits) + kFirstSecond,
          static_cast<uint32_t>(packed & ((uint64_t{1} << kNanosecondBits) - 1))};
}

void AttributeWords::Store(const protocol::Attributes& a) {
  std::array<uint64_t, kWords> words;
  words[kOwner] = Pack(a.uid, a.gid);
  words[kSize] = a.size_bytes;
  words[kUsed] = a.used_bytes;
  words[kFsid] = a.fsid;
  words[kAtime] = PackTime(a.atime);
  words[kMtime] = PackTime(a.mtime);
  words[kCtime] = PackTime(a.ctime);
  words[kChange] = a.change;
  for (size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_relaxed);
  nlink_.store(a.nlink, std::memory_order_relaxed);
  mode_.store(static_cast<uint16_t>(a.mode), std::memory_order_relaxed);
}

void AttributeWords::Load(protocol::Attributes& a) const {
  auto word = [this](Word i) { return words_[i].load(std::memory_order_relaxed); };
  const uint64_t owner = word(kOwner);
  a.mode = mode_.load(std::memory_order_relaxed);
  a.nlink = nlink_.load(std::memory_order_relaxed);
  a.uid = High(owner);
  a.gid = Low(owner);
  a.size_bytes = word(kSize);
  a.used_bytes = word(kUsed);
  a.fsid = word(kFsid);
  a.atime = UnpackTime(word(kAtime));
  a.mtime = UnpackTime(word(kMtime));
  a.ctime = UnpackTime(word(kCtime));
  a.change = word(kChange);
}

void Inode::StoreAttributes(const protocol::Attributes& a) {
  attributes.Store(a);
  if (IsDevice(a.type)) device.store(Pack(a.rdev_major, a.rdev_minor), std::memory_order_relaxed);
}

void Inode::LoadAttributes(protocol::Attributes& a) const {
  a.type = type.load(std::memory_order_relaxed);
  a.fileid = fileid;
  const uint64_t rdev = IsDevice(a.type) ? device.load(std::memory_order_relaxed) : 0;
  a.rdev_major = High(rdev);
  a.rdev_minor = Low(rdev);
  attributes.Load(a);
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
