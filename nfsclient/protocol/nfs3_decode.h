// nfs3_decode: decodes and checks the replies of an NFSv3 server.
//
// A reply that violates RFC 1813 (a handle that is empty or longer than 64 bytes, an unknown file
// type, a name that is empty, longer than 255 bytes or contains '/', more data than requested, a
// link text that is empty or longer than 4096 bytes, a listing without progress) decodes to
// io_error and nothing else. Names and link texts are C strings in libnfs and end at an embedded
// NUL.
//
// Each DecodeReply() fills a default-constructed reply, which does not point into libnfs' memory.
//
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
// Copies the data to `into`, whose size is the count sent.
void DecodeReply(const READ3res& wire, std::span<std::byte> into, ReadReply& reply);
// `sent_bytes`: size of the data sent.
void DecodeReply(const WRITE3res& wire, size_t sent_bytes, WriteReply& reply);
// `requested`: the position sent. A chunk that ends there, or is empty but not the last, is
// io_error: continuing would loop.
void DecodeReply(const READDIR3res& wire, ReadDirPosition requested, ReadDirReply& reply);
void DecodeReply(const READDIRPLUS3res& wire, ReadDirPosition requested, ReadDirReply& reply);
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
// Clamp sizes to 1024 .. kTransferBytesMax: some servers send 0, others 64 MiB.
void DecodeReply(const FSINFO3res& wire, LimitsReply& reply);
void DecodeReply(const PATHCONF3res& wire, LimitsReply& reply);

// The overloads without further arguments, as a function object.
inline constexpr auto kDecode = [](const auto& wire, auto& reply) { DecodeReply(wire, reply); };

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS3_DECODE_H_
