// decode: decodes and checks the results of an NFSv3 server, and of MNT.
//
// Results that violate RFC 1813 (a handle that is empty or longer than 64 bytes, an unknown file
// type, a name that is empty, longer than 255 bytes or contains '/' or NUL, more data than
// requested, a link text that is empty, longer than 4096 bytes or contains NUL, a listing without
// progress) or end early decode to io_error and nothing else. "." and ".." are names of a listing.
// Bytes behind the results are ignored.
//
// Each DecodeReply() fills a default-constructed reply, which does not point into the bytes read,
// and allocates at most a constant multiple of their number.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_NFS3_DECODE_H_
#define NFSWALK_NFSCLIENT_NFS3_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "nfsclient/protocol/posix_acl.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/protocol/wire_limits.h"
#include "nfsclient/rpc/xdr_reader.h"

namespace nfswalk::protocol {

inline constexpr size_t kNfs3HandleBytesMax = 64;

// Leaves out attributes of another file system than the directory's, which are asked for where they
// are needed (ATTR-21): nfs-ganesha 4.3 sends fsid 0 now and then, of a file that an EXCLUSIVE
// CREATE is making with the verifier for times.
void LeaveOutForeign(OptionalAttributes& object, const OptionalAttributes& directory);

void DecodeReply(rpc::XdrReader& in, AttributesReply& reply);
void DecodeReply(rpc::XdrReader& in, LookupReply& reply);
void DecodeReply(rpc::XdrReader& in, AccessReply& reply);
void DecodeReply(rpc::XdrReader& in, ReadLinkReply& reply);
void DecodeReply(rpc::XdrReader& in, SpaceReply& reply);
// Reads the data into `into`, whose size is the count sent; what lies there is undefined after an
// error.
void DecodeReply(rpc::XdrReader& in, std::span<std::byte> into, ReadReply& reply);
// As rpc::Request::find_data, for READ.
std::optional<size_t> FindReadData(std::span<const std::byte> results);
// `sent_bytes`: size of the data sent. The server committed it at least as `requested`.
void DecodeReply(rpc::XdrReader& in, size_t sent_bytes, Stability requested,
                 UnstableWriteReply& reply);
void DecodeReply(rpc::XdrReader& in, CommitReply& reply);
// Decodes READDIR, or READDIRPLUS if `plus`. `requested`: the position sent. A chunk that ends
// there, or is empty but not the last, is io_error: continuing would loop.
void DecodeReply(rpc::XdrReader& in, bool plus, ReadDirPosition requested, ReadDirReply& reply);
// CREATE, MKDIR and SYMLINK.
void DecodeReply(rpc::XdrReader& in, CreateReply& reply);
void DecodeReply(rpc::XdrReader& in, LinkReply& reply);
void DecodeReply(rpc::XdrReader& in, RenameReply& reply);
// REMOVE and RMDIR.
void DecodeReply(rpc::XdrReader& in, RemoveReply& reply);
void DecodeReply(rpc::XdrReader& in, FileChangeReply& reply);

struct LimitsReply {
  std::errc error{};
  ServerLimits limits;
};
// Sets the sizes, clamped to 1024 .. kTransferBytesMax: some servers send 0, others 64 MiB.
void DecodeFsInfo(rpc::XdrReader& in, LimitsReply& reply);
// Sets the limit of names, clamped to 1 .. kNameBytesMax, and whether case matters.
void DecodePathConf(rpc::XdrReader& in, LimitsReply& reply);

// GETACL of NFSACL. Both are valid, or empty: the mask that a server adds to what has the entries
// of a mode alone is left out. Solaris sends entries in any order, and more bits in the mask.
struct AclsReply {
  std::errc error{};
  OptionalAttributes file;
  PosixAcl access, inherited;
};
void DecodeReply(rpc::XdrReader& in, AclsReply& reply);
// SETACL of NFSACL: the attributes behind it are left.
void DecodeSetAcl(rpc::XdrReader& in, FileChangeReply& reply);

// MNT (RFC 1813 5.2.1), whose statuses are numbered as those of NFS are.
struct ExportReply {
  std::errc error{};
  FileHandle root;
  bool flavor_ok = false;  // admits AUTH_NONE or AUTH_SYS
};
void DecodeReply(rpc::XdrReader& in, ExportReply& reply);

// The overloads without further arguments, as a function object.
inline constexpr auto kDecode = [](rpc::XdrReader& in, auto& reply) { DecodeReply(in, reply); };

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS3_DECODE_H_
