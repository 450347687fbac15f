// nfs4_compound: encodes one COMPOUND (RFC 7530 15.2) and reads its results.
//
// A Compound borrows names, texts and data, and copies handles and attributes. What it borrows must
// live until the call has returned, since it may be sent more than once. Operations work on the
// current file handle (RFC 7530 16).
//
// Thread safety: none; Issue() and CompoundReader run on the I/O thread.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS4_COMPOUND_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS4_COMPOUND_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "nfsclient/protocol/file_handle.h"
#include "nfsclient/protocol/nfs4_state.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/protocol/rpc_call.h"

struct COMPOUND4res;
struct fattr4;
struct nfs_argop4;
struct nfs_resop4;

namespace nfswalk::protocol {

class OwnerNames;

class Compound {
 public:
  // libnfs encodes a call into 4096 bytes; header and credential take up to 460.
  static constexpr size_t kEncodedBytesMax = 3600;

  Compound();
  ~Compound();
  Compound(const Compound&) = delete;
  Compound& operator=(const Compound&) = delete;

  Compound& PutRoot();
  Compound& PutHandle(const FileHandle& handle);
  Compound& GetHandle();
  Compound& SaveHandle();
  Compound& RestoreHandle();
  Compound& Lookup(std::string_view name);
  Compound& LookupParent();
  // Requests the members of Attributes.
  Compound& GetAttributes();
  // Requests the members of ServerAttributes.
  Compound& GetLimits();
  Compound& Access(uint32_t rights);
  // Adds VERIFY (is_directory) or NVERIFY of the type: the COMPOUND ends here with NFS4ERR_NOT_SAME
  // or NFS4ERR_SAME if the current file is not (is) a directory.
  Compound& RequireDirectory(bool is_directory);
  Compound& ReadLink();
  Compound& Read(const StateId& state, uint64_t offset_bytes, uint32_t count_bytes);
  // With FILE_SYNC4.
  Compound& Write(const StateId& state, uint64_t offset_bytes, std::span<const std::byte> data);
  // Requests handle and attributes of each entry if `plus`, else the file id. `max_bytes` bounds
  // the reply.
  Compound& ReadDir(ReadDirPosition position, uint32_t max_bytes, bool plus);

  Compound& MakeDirectory(std::string_view name, const SetAttributes& attributes);
  Compound& MakeSymlink(std::string_view name, std::string_view target,
                        const SetAttributes& attributes);
  Compound& Remove(std::string_view name);
  // Moves from the saved directory to the current one.
  Compound& Rename(std::string_view from, std::string_view to);
  // Links the saved file as `name` in the current directory.
  Compound& Link(std::string_view name);
  Compound& SetAttributesOf(const StateId& state, const SetAttributes& attributes);
  // Encodes owners of the operations added from now on as names by `names`, not as numbers. `names`
  // must live until they are added.
  Compound& SendOwnersAsNames(const OwnerNames& names);

  Compound& SetClientId(uint64_t verifier, std::string_view id);
  Compound& ConfirmClientId(uint64_t client_id, uint64_t verifier);
  Compound& Renew(uint64_t client_id);
  Compound& Open(const OpenArguments& arguments);
  Compound& ConfirmOpen(const StateId& state, uint32_t sequence);
  Compound& Close(const StateId& state, uint32_t sequence);

  size_t operations() const;
  // Returns the size of the encoded operations.
  size_t encoded_bytes() const { return encoded_bytes_; }
  // Returns the size of Lookup(name), GetHandle(), GetAttributes() and Access().
  static size_t EncodedBytesOfStep(std::string_view name);

  // As RpcCall::Issue().
  int Issue(rpc_context* rpc, ReplyCallback callback, void* data);

 private:
  // Adds an operation. `argument_bytes`: encoded size of its arguments, as far as known.
  nfs_argop4& Add(int operation, size_t argument_bytes);
  fattr4 EncodeAttributes(const SetAttributes& attributes);

  std::vector<nfs_argop4> operations_;
  // Storage that the operations point to.
  std::deque<std::string> bytes_;
  std::deque<std::array<uint32_t, 2>> masks_;
  size_t encoded_bytes_ = 0;
  const OwnerNames* names_ = nullptr;
};

// Reads the results in the order of the operations.
class CompoundReader {
 public:
  explicit CompoundReader(const COMPOUND4res& wire) : wire_(wire) {}

  // Returns the next result if it is of `operation` (OP_*) and succeeded; else sets error() and
  // returns nullptr, as do all later calls. Valid until the next call.
  const nfs_resop4* Next(int operation);
  // Returns errc{} while every Next() succeeded; else the errno of the failed operation (may be one
  // of internal_errors.h), or io_error for results that do not match the operations.
  std::errc error() const { return error_; }
  // Returns the nfsstat4 of error(), 0 if it has none.
  int status() const { return status_; }
  // Sets error(), for a result that the caller refuses.
  void Fail(std::errc why = std::errc::io_error) { error_ = why; }

 private:
  // sizeof(nfs_resop4), which is incomplete here.
  static constexpr size_t kResultBytes = 160;

  const COMPOUND4res& wire_;
  // A copy: libnfs aligns its allocations to four bytes, a result's 64-bit fields need eight.
  alignas(8) std::array<std::byte, kResultBytes> result_;
  size_t next_ = 0;
  std::errc error_{};
  int status_ = 0;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_COMPOUND_H_
