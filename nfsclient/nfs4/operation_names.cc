#include "nfsclient/nfs4/operation_names.h"

#include <nfsc/libnfs-raw-nfs4.h>
#include <nfsc/libnfs.h>

namespace nfswalk::protocol {

std::span<const std::string_view> OperationNames() {
  static constexpr std::string_view kNames[] = {"NULL",
                                                "",
                                                "",
                                                "ACCESS",
                                                "CLOSE",
                                                "COMMIT",
                                                "CREATE",
                                                "DELEGPURGE",
                                                "DELEGRETURN",
                                                "GETATTR",
                                                "GETFH",
                                                "LINK",
                                                "LOCK",
                                                "LOCKT",
                                                "LOCKU",
                                                "LOOKUP",
                                                "LOOKUPP",
                                                "NVERIFY",
                                                "OPEN",
                                                "OPENATTR",
                                                "OPEN_CONFIRM",
                                                "OPEN_DOWNGRADE",
                                                "PUTFH",
                                                "PUTPUBFH",
                                                "PUTROOTFH",
                                                "READ",
                                                "READDIR",
                                                "READLINK",
                                                "REMOVE",
                                                "RENAME",
                                                "RENEW",
                                                "RESTOREFH",
                                                "SAVEFH",
                                                "SECINFO",
                                                "SETATTR",
                                                "SETCLIENTID",
                                                "SETCLIENTID_CONFIRM",
                                                "VERIFY",
                                                "WRITE",
                                                "RELEASE_LOCKOWNER"};
  return kNames;
}

int OperationRank(int operation) {
  switch (operation) {
    case OP_PUTROOTFH:
    case OP_PUTFH:
    case OP_SAVEFH:
    case OP_RESTOREFH:
    case OP_GETFH:
    case OP_VERIFY:
    case OP_NVERIFY:
      return 1;
    case OP_GETATTR:
      return 2;
    case OP_ACCESS:
      return 3;
    case OP_LOOKUP:
    case OP_LOOKUPP:
      return 4;
    case 0:  // none yet
      return 0;
    default:
      return 5;
  }
}

}  // namespace nfswalk::protocol
