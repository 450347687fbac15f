// compound: encodes one COMPOUND (RFC 7530 15.2, RFC 8881 16.2), sends it and reads its results.
//
// A Compound copies all but the data of a WRITE, which must live until the call has returned, since
// it may be sent more than once. Operations work on the current file handle (RFC 7530 16). The tag,
// the minor version and, in a session, SEQUENCE are the connection's (rpc/session_slots.h).
//
// Thread safety: none of the classes; the functions: distinct compounds.
#ifndef NFSWALK_NFSCLIENT_NFS4_COMPOUND_H_
#define NFSWALK_NFSCLIENT_NFS4_COMPOUND_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>

#include "nfsclient/nfs4/owner_names.h"
#include "nfsclient/nfs4/session_arguments.h"
#include "nfsclient/nfs4/state_id.h"
#include "nfsclient/protocol/file_handle.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/rpc/caller.h"
#include "nfsclient/rpc/request.h"
#include "nfsclient/rpc/xdr_reader.h"
#include "nfsclient/rpc/xdr_writer.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::protocol {

class Compound {
 public:
  // Limit for paths, each of whose names is an operation.
  static constexpr size_t kEncodedBytesMax = 64 * 1024;

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
  // The members of FileSystemSpace, of the current file's.
  Compound& GetSpace();
  Compound& Access(uint32_t rights);
  // Adds VERIFY (is_directory) or NVERIFY of the type: the COMPOUND ends here with NFS4ERR_NOT_SAME
  // or NFS4ERR_SAME if the current file is not (is) a directory.
  Compound& RequireDirectory(bool is_directory);
  Compound& ReadLink();
  // Behind PutHandle(). Data goes to `into`, as far as it was not received before that was known.
  Compound& Read(const StateId& state, uint64_t offset_bytes, std::span<std::byte> into);
  // At most one in a COMPOUND.
  Compound& Write(const StateId& state, uint64_t offset_bytes, std::span<const std::byte> data,
                  Stability stability);
  // COMMIT of the whole file.
  Compound& Commit();
  // These are of version 4.2; the first is ALLOCATE or DEALLOCATE.
  Compound& Allocate(const StateId& state, const Allocation& allocation);
  Compound& Seek(const StateId& state, uint64_t offset_bytes, Content content);
  // Copies of the saved file into the current one, within this server.
  Compound& Copy(const StateId& source, const StateId& target, const CopiedRange& range);
  // Extended attributes.
  Compound& GetXattr(std::string_view name);
  Compound& SetXattr(std::string_view name, std::string_view value, XattrMode how);
  Compound& RemoveXattr(std::string_view name);
  // Names behind `cookie`, 0: from the first on. `max_bytes` bounds the reply.
  Compound& ListXattrs(uint64_t cookie, uint32_t max_bytes);
  // Requests handle and attributes of each entry if `plus`, else the file id. `max_bytes` bounds
  // the reply.
  Compound& ReadDir(ReadDirPosition position, uint32_t max_bytes, bool plus);

  Compound& MakeDirectory(std::string_view name, const SetAttributes& attributes);
  Compound& MakeSymlink(std::string_view name, std::string_view target,
                        const SetAttributes& attributes);
  Compound& MakeNode(std::string_view name, FileType type, Device device,
                     const SetAttributes& attributes);
  Compound& Remove(std::string_view name);
  // Moves from the saved directory to the current one.
  Compound& Rename(std::string_view from, std::string_view to);
  // Links the saved file as `name` in the current directory.
  Compound& Link(std::string_view name);
  Compound& SetAttributesOf(const StateId& state, const SetAttributes& attributes);
  // GETATTR and SETATTR of the ACL alone, which is sent as it is.
  Compound& GetAcl();
  Compound& SetAcl(std::string_view acl);
  // Encodes owners of the operations added from now on as names by `names`, not as numbers. `names`
  // must live until they are added.
  Compound& SendOwnersAsNames(const OwnerNames& names);

  // Client ids of version 4.0.
  Compound& SetClientId(uint64_t verifier, std::string_view id);
  Compound& ConfirmClientId(uint64_t client_id, uint64_t verifier);
  Compound& Renew(uint64_t client_id);
  // Client ids and sessions of later minor versions.
  Compound& ExchangeId(uint64_t verifier, std::string_view id);
  Compound& CreateSession(const SessionArguments& arguments);
  // Makes the connection that it is sent on one over which the server may call.
  Compound& BindConnection(const SessionId& session);
  Compound& CompleteReclaim();
  Compound& DestroySession(const SessionId& session);
  Compound& DestroyClientId(uint64_t client_id);
  Compound& TestStates(std::span<const StateId> states);
  Compound& FreeState(const StateId& state);
  // Counts as SEQUENCE, which it has alone if nothing is added.
  Compound& CountAsSequence();

  Compound& Open(const OpenArguments& arguments);
  Compound& ConfirmOpen(const StateId& state, uint32_t sequence);
  Compound& Close(const StateId& state, uint32_t sequence);
  Compound& ReturnDelegation(const StateId& delegation);
  // GET_DIR_DELEGATION, of sessions.
  Compound& DelegateDirectory();
  // READ_LT and WRITE_LT: none that a server would queue.
  Compound& Lock(const LockArguments& arguments);
  Compound& TestLock(const RangeLock& lock, uint64_t client_id, std::string_view owner);
  Compound& Unlock(const StateId& state, uint32_t sequence, ByteRange range);
  Compound& ReleaseLockOwner(uint64_t client_id, std::string_view owner);

  size_t operations() const { return operations_; }
  // Returns the size of the encoded operations, without WRITE's data.
  size_t encoded_bytes() const { return writer_.size(); }
  // Returns the size of Lookup(name), GetHandle(), GetAttributes() and Access().
  static size_t EncodedBytesOfStep(std::string_view name);

  // Returns the call, which borrows from this object and from what it borrows, until the next
  // operation is added.
  rpc::Request Encode() const;

 private:
  // Begins an operation (OP_*). Returns where its arguments go.
  rpc::XdrWriter& Add(int operation);
  void AddAttributes(const SetAttributes& attributes);
  void AddState(const StateId& state);

  rpc::XdrWriter writer_;
  uint32_t operations_ = 0;
  // WRITE's data: not encoded, sent from where it lies.
  std::span<const std::byte> data_;
  size_t data_at_bytes_ = 0;        // 0: there is no WRITE
  std::span<std::byte> read_into_;  // of READ
  size_t results_bytes_max_ = 128;
  int counts_as_ = 0;  // see OperationRank()
  bool in_session_ = true;
  bool is_cached_ = false;
  const OwnerNames* names_ = nullptr;
};

// Reads the results in the order of the operations, until the first that failed: nothing follows
// it, and its body is left. Where the call was sent in a session, SEQUENCE is read already; if that
// failed, this transmission executed nothing, and the error is kJukebox where the call is to be
// sent again.
class CompoundReader {
 public:
  // `results` (COMPOUND4res) must outlive it.
  explicit CompoundReader(rpc::XdrReader& results);

  // Returns whether the next result is of `operation` (OP_*) and succeeded; else sets error(), and
  // so do all later calls. Its body is then to be read from body() to its end. SETATTR's is
  // skipped; other bodies that decode.h has no function for are empty.
  bool Next(int operation);
  rpc::XdrReader& body() { return body_; }
  // Ends the reading of a body: sets error() unless it `is_valid` and was not longer than the
  // reply. Returns whether it was.
  bool TakeBody(bool is_valid);
  // Skips a bitmap4 of the body.
  void SkipBitmap();

  // The wait for the names in all results.
  OwnerWait& owner_wait() { return owner_wait_; }

  // Returns errc{} while every Next() succeeded; else the errno of the failed operation (may be one
  // of internal_errors.h), or io_error for results that do not match the operations.
  std::errc error() const { return error_; }
  // Returns the nfsstat4 of error(), 0 if it has none.
  int status() const { return status_; }
  // Sets error(), for a result that the caller refuses.
  void Fail(std::errc why = std::errc::io_error) { error_ = why; }

 private:
  rpc::XdrReader& body_;
  uint32_t results_left_ = 0;
  int refused_status_ = 0;  // nfsstat4 of the COMPOUND
  std::errc error_{};
  int status_ = 0;
  OwnerWait owner_wait_;
};

// Makes of `decode(CompoundReader&, Reply&)`, which reads the results and sets `reply.error`, what
// rpc::Caller takes. kJukebox repeats the whole COMPOUND after a pause: `decode` must not return it
// once a non-idempotent operation was executed.
template <typename Decode>
auto DecodeCompound(Decode decode) {
  return [decode](rpc::XdrReader& results, auto& reply) {
    CompoundReader reader(results);
    decode(reader, reply);
  };
}

// Sends an idempotent COMPOUND.
template <typename Reply, typename Decode>
Reply CallCompound(rpc::Caller& caller, Compound& compound,
                   const sunrpc_auth::Credential& credential, rpc::Caller::Budget& budget,
                   Decode decode) {
  return caller.Call<Reply>(credential, budget, compound.Encode(), DecodeCompound(decode));
}

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_COMPOUND_H_
