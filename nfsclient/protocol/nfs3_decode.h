// nfs3_decode: replies of an NFSv3 server, checked before anybody uses them.
//
// A reply that breaks RFC 1813 in a way that matters (a handle that is empty or longer than 64
// bytes, an unknown file type, a name that is empty, longer than 255 bytes or holds '/', more data
// than was asked for, a link text that is empty or longer than 4096 bytes, a directory that never
// ends) reads as io_error, with nothing else in it. Names and link texts come out of libnfs as C
// strings: an embedded NUL ends them.
//
// Each DecodeReply() fills a default-constructed reply. Nothing in it points into libnfs' memory.
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS3_DECODE_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS3_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "nfsclient/protocol/protocol.h"
#include "nfsclient/protocol/wire_limits.h"

struct ACCESS3res;
struct CREATE3res;
struct FSINFO3res;
struct GETATTR3res;
struct LINK3res;
struct LOOKUP3res;
struct MKDIR3res;
struct PATHCONF3res;
struct READ3res;
struct READDIR3res;
struct READDIRPLUS3res;
struct READLINK3res;
struct REMOVE3res;
struct RENAME3res;
struct RMDIR3res;
struct SETATTR3res;
struct SYMLINK3res;
struct WRITE3res;

namespace nfswalk::protocol {

inline constexpr size_t kNfs3HandleBytesMax = 64;

void DecodeReply(const GETATTR3res& wire, AttributesReply& reply);
void DecodeReply(const LOOKUP3res& wire, LookupReply& reply);
void DecodeReply(const ACCESS3res& wire, AccessReply& reply);
void DecodeReply(const READLINK3res& wire, ReadLinkReply& reply);
// Copies the data into `into`, which is as long as the count that was asked for.
void DecodeReply(const READ3res& wire, std::span<std::byte> into, ReadReply& reply);
// `asked_bytes`: the length of the data that was sent.
void DecodeReply(const WRITE3res& wire, size_t asked_bytes, WriteReply& reply);
// `asked`: the position that was sent. A chunk that ends there again, or is empty without being the
// last, is io_error: whoever asked on would never finish.
void DecodeReply(const READDIR3res& wire, ReadDirPosition asked, ReadDirReply& reply);
void DecodeReply(const READDIRPLUS3res& wire, ReadDirPosition asked, ReadDirReply& reply);
void DecodeReply(const CREATE3res& wire, CreateReply& reply);
void DecodeReply(const MKDIR3res& wire, CreateReply& reply);
void DecodeReply(const SYMLINK3res& wire, CreateReply& reply);
void DecodeReply(const LINK3res& wire, LinkReply& reply);
void DecodeReply(const RENAME3res& wire, RenameReply& reply);
void DecodeReply(const REMOVE3res& wire, RemoveReply& reply);
void DecodeReply(const RMDIR3res& wire, RemoveReply& reply);
void DecodeReply(const SETATTR3res& wire, SetAttributesReply& reply);

struct LimitsReply {
  std::errc error{};
  ServerLimits limits;
};
// Sizes are clamped to 1024 .. kTransferBytesMax: some servers say 0, others 64 MiB.
void DecodeReply(const FSINFO3res& wire, LimitsReply& reply);
void DecodeReply(const PATHCONF3res& wire, LimitsReply& reply);

// Those above that need to know nothing but the wire.
inline constexpr auto kDecode = [](const auto& wire, auto& reply) { DecodeReply(wire, reply); };

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS3_DECODE_H_
