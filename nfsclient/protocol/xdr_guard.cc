#include "nfsclient/protocol/xdr_guard.h"

#include <arpa/inet.h>
#include <dlfcn.h>

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-zdr.h>
// clang-format on

#include <cstdint>
#include <cstring>
#include <optional>

namespace nfswalk::protocol {
namespace {

constexpr uint32_t kWordBytes = 4;
// The longest list requested (READDIRPLUS, 256 KiB) has about 8000 entries; a thread's stack holds
// several times as many.
constexpr int kListDepthMax = 16'384;

template <typename Function>
Function* Original(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool Fits(const ZDR* zdr, uint64_t bytes) {
  return zdr->pos >= 0 && zdr->pos <= zdr->size &&
         bytes <= static_cast<uint64_t>(zdr->size - zdr->pos);
}

// Returns the next word on the wire, a length, if there is one.
std::optional<uint32_t> NextLength(const ZDR* zdr) {
  if (!Fits(zdr, kWordBytes)) return std::nullopt;
  uint32_t wire;
  std::memcpy(&wire, zdr->buf + zdr->pos, sizeof wire);
  return ntohl(wire);
}

// Returns whether an array of elements of at least `unit_bytes` fits into the rest of the buffer.
bool MayDecode(const ZDR* zdr, uint32_t unit_bytes) {
  if (zdr->x_op != ZDR_DECODE) return true;
  const std::optional<uint32_t> length = NextLength(zdr);
  return length && Fits(zdr, kWordBytes + uint64_t{*length} * unit_bytes);
}

}  // namespace
}  // namespace nfswalk::protocol

using nfswalk::protocol::Fits;
using nfswalk::protocol::kListDepthMax;
using nfswalk::protocol::kWordBytes;
using nfswalk::protocol::MayDecode;
using nfswalk::protocol::Original;

extern "C" {

bool_t libnfs_zdr_bytes(ZDR* zdr, char** bytes, uint32_t* size, uint32_t size_max) {
  static const auto original = Original(&libnfs_zdr_bytes, "libnfs_zdr_bytes");
  return MayDecode(zdr, 1) ? original(zdr, bytes, size, size_max) : FALSE;
}

bool_t libnfs_zdr_string(ZDR* zdr, char** text, uint32_t size_max) {
  static const auto original = Original(&libnfs_zdr_string, "libnfs_zdr_string");
  return MayDecode(zdr, 1) ? original(zdr, text, size_max) : FALSE;
}

bool_t libnfs_zdr_array(ZDR* zdr, char** elements, uint32_t* count, uint32_t count_max,
                        uint32_t element_size, zdrproc_t proc) {
  static const auto original = Original(&libnfs_zdr_array, "libnfs_zdr_array");
  // The smallest XDR type is a word.
  return MayDecode(zdr, kWordBytes) ? original(zdr, elements, count, count_max, element_size, proc)
                                    : FALSE;
}

// Checked when encoding too: libnfs does not.
bool_t libnfs_zdr_opaque(ZDR* zdr, char* bytes, uint32_t size) {
  static const auto original = Original(&libnfs_zdr_opaque, "libnfs_zdr_opaque");
  return Fits(zdr, size) ? original(zdr, bytes, size) : FALSE;
}

bool_t libnfs_zdr_pointer(ZDR* zdr, char** object, uint32_t size, zdrproc_t proc) {
  static const auto original = Original(&libnfs_zdr_pointer, "libnfs_zdr_pointer");
  thread_local int depth = 0;
  if (depth >= kListDepthMax) return FALSE;
  ++depth;
  const bool_t done = original(zdr, object, size, proc);
  --depth;
  return done;
}

}  // extern "C"

namespace nfswalk::protocol {

bool XdrGuardIsInPlace() {
  return dlsym(RTLD_DEFAULT, "libnfs_zdr_bytes") == reinterpret_cast<void*>(&libnfs_zdr_bytes);
}

}  // namespace nfswalk::protocol
