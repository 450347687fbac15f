// LookupPath(): a path in as few COMPOUNDs as the server's limits allow. Reads a directory's
// attributes before its rights and names: a change in between then shows when the attributes are
// read next.
#include "nfsclient/nfs4/nfs4.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <algorithm>

#include "nfsclient/nfs4/path_steps.h"
#include "nfsclient/nfs4/status.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::protocol {
namespace {

constexpr size_t kOperationsBefore = 3;  // PUTFH, GETATTR, ACCESS
// The smallest request: one name.
constexpr size_t kOperationsMin = kOperationsBefore + kOperationsOfStep;
static_assert(kOperationsMin == OperationsLimit::kMin);
bool IsDotDot(std::string_view name) { return name == ".."; }

}  // namespace

void AddStep(Compound& compound, std::string_view name) {
  (IsDotDot(name) ? compound.LookupParent() : compound.Lookup(name))
      .GetHandle()
      .GetAttributes()
      .Access(kAccessAll);
}

bool TakeStep(CompoundReader& reader, const OwnerNames& owners, std::string_view name,
              LookupPathReply& reply) {
  if (reader.error() != kOk) return false;
  PathStep step;
  if (!reader.Next(IsDotDot(name) ? OP_LOOKUPP : OP_LOOKUP)) {
    reply.name_is_missing = !IsDotDot(name) && reader.status() == NFS4ERR_NOENT;
    return false;
  }
  if (!TakeHandle(reader, step.handle) || !TakeAttributes(reader, owners, step.attributes)) {
    return false;
  }
  reply.steps.push_back(step);
  uint32_t granted = 0;
  if (!TakeAccess(reader, granted)) return false;
  reply.steps.back().granted = granted;
  return true;
}

LookupPathReply Nfs4::LookupPath(const FileHandle& directory,
                                 std::span<const std::string_view> names,
                                 const Credential& credential) {
  for (const std::string_view name : names) {
    if (const std::errc error = CheckName(name); error != kOk) {
      return Failure<LookupPathReply>(error);
    }
  }
  Budget budget = caller_->NewBudget();
  LookupPathReply reply;
  FileHandle at = directory;
  while (!names.empty() && reply.error == kOk) {
    const size_t known = reply.steps.size();
    names = names.subspan(LookupSome(budget, at, names, credential, reply));
    if (reply.steps.size() > known) at = reply.steps.back().handle;
  }
  return reply;
}

// Resolves as many of `names` as fit into one COMPOUND and appends them to `reply`. Returns how
// many were resolved: 0 with an error, or if the server refused the number of operations.
size_t Nfs4::LookupSome(Budget& budget, const FileHandle& directory,
                        std::span<const std::string_view> names, const Credential& credential,
                        LookupPathReply& reply) {
  const size_t operations_max = std::min(operations_limit_.MaxToSend(), kPathOperationsMax);
  Compound compound;
  compound.PutHandle(directory).GetAttributes().Access(kAccessAll);
  size_t count = 0;
  while (count < names.size() && compound.operations() + kOperationsOfStep <= operations_max &&
         compound.encoded_bytes() + Compound::EncodedBytesOfStep(names[count]) <=
             Compound::kEncodedBytesMax) {
    AddStep(compound, names[count++]);
  }
  int status = 0;
  LookupPathReply part = CallCompound<LookupPathReply>(
      *caller_, compound, credential, budget, [&](CompoundReader& reader, LookupPathReply& got) {
        Attributes attributes;
        uint32_t granted = 0;
        if (reader.Next(OP_PUTFH) && TakeAttributes(reader, owner_names_, attributes)) {
          got.directory = attributes;
        }
        if (TakeAccess(reader, granted)) got.granted = granted;
        for (size_t i = 0; i < count && TakeStep(reader, owner_names_, names[i], got); ++i) {
        }
        got.error = reader.error();
        status = reader.status();
      });
  if (reply.steps.empty() && !reply.directory) {
    reply.directory = part.directory;
    reply.granted = part.granted;
  }
  reply.steps.insert(reply.steps.end(), part.steps.begin(), part.steps.end());
  const bool refused = IsTooLarge(status) && compound.operations() > kOperationsMin;
  // A COMPOUND that ended early does not show whether the server would have accepted all of it.
  if (refused || part.error == kOk) operations_limit_.Record(compound.operations(), refused);
  if (!refused) reply.error = part.error;
  reply.name_is_missing = part.name_is_missing;
  return part.steps.size();
}

}  // namespace nfswalk::protocol
