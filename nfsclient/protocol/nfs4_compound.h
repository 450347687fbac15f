// nfs4_compound: the operations of one COMPOUND (RFC 7530 15.2), and how its results are read.
//
// A Compound borrows the names, texts and data that it is given, and copies handles and attributes;
// what it borrows must live until the call is answered, since it may be sent more than once.
// Operations work on the current file handle, as RFC 7530 16 says of each.
//
// Thread safety: a Compound is one thread's; Issue() and CompoundReader run on the I/O thread.
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
  // libnfs encodes a call into 4096 bytes, of which header and credential take up to 460.
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
  // All that Attributes holds.
  Compound& GetAttributes();
  // What ServerLimits holds, and the lease time.
  Compound& GetLimits();
  Compound& Access(uint32_t rights);
  // Ends the COMPOUND here, with NFS4ERR_NOT_SAME or NFS4ERR_SAME, unless the current file is (or
  // is not) a directory.
  Compound& RequireDirectory(bool is_directory);
  Compound& ReadLink();
  Compound& Read(const StateId& state, uint64_t offset_bytes, uint32_t count_bytes);
  // FILE_SYNC4.
  Compound& Write(const StateId& state, uint64_t offset_bytes, std::span<const std::byte> data);
  // Handles and attributes with each entry where `plus`, else the file id alone. `max_bytes` bounds
  // the reply.
  Compound& ReadDir(ReadDirPosition position, uint32_t max_bytes, bool plus);

  Compound& MakeDirectory(std::string_view name, const SetAttributes& attributes);
  Compound& MakeSymlink(std::string_view name, std::string_view target,
                        const SetAttributes& attributes);
  Compound& Remove(std::string_view name);
  // From the saved handle's directory into the current one.
  Compound& Rename(std::string_view from, std::string_view to);
  // The saved handle, under `name` in the current directory.
  Compound& Link(std::string_view name);
  Compound& SetAttributesOf(const StateId& state, const SetAttributes& attributes);
  // From now on owners go as names, which `names` gives, and not as digits. It must live until the
  // operations are added.
  Compound& NameOwners(const OwnerNames& names);

  Compound& SetClientId(uint64_t verifier, std::string_view id);
  Compound& ConfirmClientId(uint64_t client_id, uint64_t verifier);
  Compound& Renew(uint64_t client_id);
  Compound& Open(const OpenArguments& arguments);
  Compound& ConfirmOpen(const StateId& state, uint32_t sequence);
  Compound& Close(const StateId& state, uint32_t sequence);

  size_t operations() const;
  // Bytes of the encoded operations.
  size_t encoded_bytes() const { return encoded_bytes_; }
  // Bytes that Lookup(name), GetHandle(), GetAttributes() and Access() add.
  static size_t EncodedBytesOfStep(std::string_view name);

  // RpcCall::Issue().
  int Issue(rpc_context* rpc, ReplyCallback callback, void* data);

 private:
  // `argument_bytes`: of the encoded arguments, so far as they are known.
  nfs_argop4& Add(int operation, size_t argument_bytes);
  fattr4 Keep(const SetAttributes& attributes);

  std::vector<nfs_argop4> operations_;
  // What the operations point to.
  std::deque<std::string> bytes_;
  std::deque<std::array<uint32_t, 2>> masks_;
  size_t encoded_bytes_ = 0;
  const OwnerNames* names_ = nullptr;
};

// Reads the results in the order of the operations.
class CompoundReader {
 public:
  explicit CompoundReader(const COMPOUND4res& wire) : wire_(wire) {}

  // The result of the next operation, which must be `operation` (OP_*) and have succeeded; nullptr
  // if not, and from then on. error() then says why. Valid until the next call.
  const nfs_resop4* Next(int operation);
  // errc{} while all results that were asked for were there; the status of the operation that
  // failed (may be an inner error, internal_errors.h); io_error for an answer that is none to the
  // question.
  std::errc error() const { return error_; }
  // The raw nfsstat4 behind error(), 0 if there is none.
  int status() const { return status_; }
  // For what the caller finds wrong in a result: error() is `why` from now on.
  void Fail(std::errc why = std::errc::io_error) { error_ = why; }

 private:
  // Of an nfs_resop4.
  static constexpr size_t kResultBytes = 160;

  const COMPOUND4res& wire_;
  // libnfs packs what it allocates to four bytes, less than a result's fields may be read at.
  alignas(8) std::array<std::byte, kResultBytes> result_;
  size_t next_ = 0;
  std::errc error_{};
  int status_ = 0;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_COMPOUND_H_
