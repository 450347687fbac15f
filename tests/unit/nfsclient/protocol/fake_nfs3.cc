#include "tests/unit/nfsclient/protocol/fake_nfs3.h"

#include <optional>
#include <utility>

#include "tests/unit/nfsclient/protocol/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

// Reads a sattr3. Only the mode is kept.
std::optional<uint32_t> ReadMode(XdrReader& reader) {
  std::optional<uint32_t> mode;
  if (reader.U32() != 0) mode = reader.U32();
  if (reader.U32() != 0) reader.U32();  // uid
  if (reader.U32() != 0) reader.U32();  // gid
  if (reader.U32() != 0) reader.U64();  // size
  for (int i = 0; i < 2; ++i) {         // atime, mtime
    if (reader.U32() == SET_TO_CLIENT_TIME) reader.U64();
  }
  return mode;
}

Xdr Attributes(const FakeNode& node) {
  Xdr xdr;
  xdr.U32(static_cast<uint32_t>(node.type), node.mode, node.nlink, node.uid, node.gid);
  return xdr.U64(0, 0, 0, 1, node.fileid).U32(1, 0, 1, 0, 1, 0);
}

Xdr PostOp(const FakeNode& node) { return Xdr().U32(1).Raw(Attributes(node)); }
// None of a file whose handle is stale.
Xdr PostOp(const std::shared_ptr<FakeNode>& node) { return node ? PostOp(*node) : Xdr().U32(0); }

// wcc_data with the directory's attributes after, and none before.
template <class Node>
Xdr Wcc(const Node& directory) {
  return Xdr().U32(0).Raw(PostOp(directory));
}

}  // namespace

FakeAnswer FakeNfs3::Handle(const FakeCall& call) {
  const std::lock_guard lock(mutex_);
  if (call.procedure == NFS3_NULL) return {};
  if (call.program == MOUNT_PROGRAM) {
    return call.procedure == MOUNT3_MNT ? MountReply(root_handle()) : FakeAnswer{};
  }
  const auto fault = Begin(static_cast<int>(call.procedure), call.uid());
  if (fault && fault->kind == FakeFault::Kind::kLoseCall) return kHangUp;
  Run run{.in = XdrReader(call.arguments), .uid = call.uid()};
  const int status = fault && fault->kind == FakeFault::Kind::kStatus
                         ? fault->status
                         : Execute(call.procedure, run);
  if (fault && fault->kind == FakeFault::Kind::kLoseReply) return kHangUp;
  return Reply(Xdr().U32(status).Raw(status == NFS3_OK ? run.out : Failure(call)));
}

// What follows the status of a call that failed (RFC 1813 3.3).
Xdr FakeNfs3::Failure(const FakeCall& call) {
  XdrReader in(call.arguments);
  const auto file = tree_.ByHandle(in.Bytes());
  switch (call.procedure) {
    case NFS3_GETATTR:
      return {};
    case NFS3_LOOKUP:
    case NFS3_ACCESS:
    case NFS3_READLINK:
    case NFS3_READ:
    case NFS3_READDIR:
    case NFS3_READDIRPLUS:
      return PostOp(file);
    case NFS3_RENAME:
      in.Bytes();  // the old name
      return Wcc(file).Raw(Wcc(tree_.ByHandle(in.Bytes())));
    case NFS3_LINK:
      return PostOp(file).Raw(Wcc(tree_.ByHandle(in.Bytes())));
    default:
      return Wcc(file);
  }
}

int FakeNfs3::Execute(uint32_t procedure, Run& run) {
  run.file = tree_.ByHandle(run.in.Bytes());
  if (run.file == nullptr) return NFS3ERR_STALE;
  switch (procedure) {
    case NFS3_GETATTR:
      run.out = Attributes(*run.file);
      return NFS3_OK;
    case NFS3_SETATTR:
      return SetAttributes(run);
    case NFS3_LOOKUP:
      return Lookup(run);
    case NFS3_READLINK:
      run.out.U32(0).Bytes(run.file->data);
      return NFS3_OK;
    case NFS3_CREATE:
      return Make(run, FakeNode::Type::kRegular);
    case NFS3_MKDIR:
      return Make(run, FakeNode::Type::kDirectory);
    case NFS3_SYMLINK:
      return Make(run, FakeNode::Type::kSymlink);
    case NFS3_REMOVE:
    case NFS3_RMDIR:
      return Remove(run);
    case NFS3_RENAME:
      return Rename(run);
    case NFS3_LINK:
      return Link(run);
    case NFS3_READDIR:
      return ListDirectory(run, false);
    case NFS3_READDIRPLUS:
      return ListDirectory(run, true);
    case NFS3_FSINFO:  // rtmax to dtpref, maxfilesize, time_delta, properties
      run.out.U32(0, 65536, 65536, 1, 65536, 65536, 1, 4096).U64(uint64_t{1} << 40).U32(0, 1, 0);
      return NFS3_OK;
    case NFS3_PATHCONF:  // linkmax, name_max, no_trunc, chown_restricted, case_*
      run.out.U32(0, 32000, 255, 1, 1, 0, 1);
      return NFS3_OK;
    default:
      return NFS3ERR_NOTSUPP;
  }
}

int FakeNfs3::SetAttributes(Run& run) {
  run.file->mode = ReadMode(run.in).value_or(run.file->mode);
  run.file->exclusive_verifier.clear();
  run.out.U32(0).Raw(PostOp(*run.file));
  return NFS3_OK;
}

int FakeNfs3::Lookup(Run& run) {
  const auto found = run.file->entries.find(run.in.Bytes());
  if (found == run.file->entries.end()) return NFS3ERR_NOENT;
  const FakeNode& node = *found->second;
  run.out.Bytes(node.handle()).Raw(PostOp(node)).Raw(PostOp(*run.file));
  return NFS3_OK;
}

int FakeNfs3::Make(Run& run, FakeNode::Type type) {
  const std::string name = run.in.Bytes();
  FakeNode made{.type = type, .uid = run.uid};
  const uint32_t how = type == FakeNode::Type::kRegular ? run.in.U32() : uint32_t{GUARDED};
  if (how == EXCLUSIVE) {
    made.mode = 0;
    made.exclusive_verifier = run.in.Rest();
  } else {
    made.mode = ReadMode(run.in).value_or(0);
  }
  if (type == FakeNode::Type::kSymlink) made.data = run.in.Bytes();
  const auto there = run.file->entries.find(name);
  const bool exists = there != run.file->entries.end();
  const bool repeated =
      exists && how == EXCLUSIVE && there->second->exclusive_verifier == made.exclusive_verifier;
  if (exists && how != UNCHECKED && !repeated) return NFS3ERR_EXIST;
  const FakeNode& node = exists ? *there->second : *tree_.Add(*run.file, name, std::move(made));
  run.out.U32(1).Bytes(node.handle()).Raw(PostOp(node)).Raw(Wcc(*run.file));
  return NFS3_OK;
}

int FakeNfs3::Remove(Run& run) {
  const std::string name = run.in.Bytes();
  if (!run.file->entries.contains(name)) return NFS3ERR_NOENT;
  tree_.Remove(*run.file, name);
  run.out = Wcc(*run.file);
  return NFS3_OK;
}

int FakeNfs3::Rename(Run& run) {
  const std::string from = run.in.Bytes();
  const std::shared_ptr<FakeNode> directory = tree_.ByHandle(run.in.Bytes());
  const std::string to = run.in.Bytes();
  const auto found = run.file->entries.find(from);
  if (found == run.file->entries.end()) return NFS3ERR_NOENT;
  if (found->second->type == FakeNode::Type::kDirectory) return NFS3ERR_NOTSUPP;
  tree_.Link(*directory, to, found->second);
  tree_.Remove(*run.file, from);
  run.out.Raw(Wcc(*run.file)).Raw(Wcc(*directory));
  return NFS3_OK;
}

int FakeNfs3::Link(Run& run) {
  const std::shared_ptr<FakeNode> directory = tree_.ByHandle(run.in.Bytes());
  const std::string name = run.in.Bytes();
  if (directory->entries.contains(name)) return NFS3ERR_EXIST;
  tree_.Link(*directory, name, run.file);
  run.out.U32(0).Raw(Wcc(*directory));
  return NFS3_OK;
}

// Returns all entries in one reply. Cookies count from 1.
int FakeNfs3::ListDirectory(Run& run, bool plus) {
  run.out.Raw(PostOp(*run.file)).U64(0);
  uint64_t cookie = 0;
  for (const auto& [name, node] : run.file->entries) {
    run.out.U32(1).U64(node->fileid).Bytes(name).U64(++cookie);
    if (plus) run.out.Raw(PostOp(*node)).U32(1).Bytes(node->handle());
  }
  run.out.U32(0, 1);
  return NFS3_OK;
}

}  // namespace nfswalk::protocol
