// open_file_operation: a call about an open file, again after the state that it needs was
// recovered.
//
// Thread safety: distinct operations (rpc/operation.h).
#ifndef NFSWALK_NFSCLIENT_NFS4_OPEN_FILE_OPERATION_H_
#define NFSWALK_NFSCLIENT_NFS4_OPEN_FILE_OPERATION_H_

#include <optional>
#include <system_error>
#include <tuple>

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/owner_names.h"
#include "nfsclient/nfs4/state/open_files.h"
#include "nfsclient/nfs4/state/state_error.h"
#include "nfsclient/protocol/file_handle.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/rpc/caller.h"

namespace nfswalk::protocol {

// The file of a call. The state is as of its beginning.
struct OpenedFile {
  const FileHandle& file;
  const StateId state;
  const OwnerNames& owners;
};

// A rpc::Operation of Piece(OpenedFile, arguments...), which has request() and
// Decode(CompoundReader&, Reply&). io_error once a lock of the open file is lost.
template <typename Piece, typename... Arguments>
class OpenFileOperation {
 public:
  OpenFileOperation(OpenFiles& open_files, const OwnerNames& owners, const OpenState* state,
                    const FileHandle& file, Arguments... arguments)
      : open_files_(open_files),
        owner_names_(owners),
        state_(state),
        file_(file),
        arguments_(arguments...) {}

  std::errc Encode() {
    status_ = 0;
    if (OpenFiles::HasLostLocks(state_)) return std::errc::io_error;
    used_ = OpenFiles::StateOf(state_);
    std::apply(
        [this](auto... arguments) {
          piece_.emplace(OpenedFile{file_, used_, owner_names_}, arguments...);
        },
        arguments_);
    return kOk;
  }
  const rpc::Request& request() const { return piece_->request(); }
  template <typename Reply>
  void Decode(rpc::XdrReader& in, Reply& reply) {
    CompoundReader reader(in);
    piece_->Decode(reader, reply);
    status_ = reader.status();
  }
  bool CanRecover() const {
    return state_ != nullptr && StateErrorOf(status_) != StateError::kNone;
  }
  std::errc Recover(rpc::Caller::Budget& budget) {
    return open_files_.Recover(state_, used_, status_, budget);
  }

 private:
  OpenFiles& open_files_;
  const OwnerNames& owner_names_;
  const OpenState* const state_;
  const FileHandle file_;
  const std::tuple<Arguments...> arguments_;
  StateId used_;
  std::optional<Piece> piece_;
  int status_ = 0;  // nfsstat4 of the last reply
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_OPEN_FILE_OPERATION_H_
