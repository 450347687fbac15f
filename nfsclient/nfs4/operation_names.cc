#include "nfsclient/nfs4/operation_names.h"

#include <nfsc/libnfs-raw-nfs4.h>
#include <nfsc/libnfs.h>

namespace nfswalk::protocol {

namespace {

constexpr std::string_view kNames[] = {
    "NULL",
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
    "RELEASE_LOCKOWNER",
    "BACKCHANNEL_CTL",
    "BIND_CONN_TO_SESSION",
    "EXCHANGE_ID",
    "CREATE_SESSION",
    "DESTROY_SESSION",
    "FREE_STATEID",
    "GET_DIR_DELEGATION",
    "GETDEVICEINFO",
    "GETDEVICELIST",
    "LAYOUTCOMMIT",
    "LAYOUTGET",
    "LAYOUTRETURN",
    "SECINFO_NO_NAME",
    "SEQUENCE",
    "SET_SSV",
    "TEST_STATEID",
    "WANT_DELEGATION",
    "DESTROY_CLIENTID",
    "RECLAIM_COMPLETE",
    "ALLOCATE",
    "COPY",
    "COPY_NOTIFY",
    "DEALLOCATE",
    "IO_ADVISE",
    "LAYOUTERROR",
    "LAYOUTSTATS",
    "OFFLOAD_CANCEL",
    "OFFLOAD_STATUS",
    "READ_PLUS",
    "SEEK",
    "WRITE_SAME",
    "CLONE",
    "GETXATTR",
    "SETXATTR",
    "LISTXATTRS",
    "REMOVEXATTR",
};

}  // namespace

std::span<const std::string_view> OperationNames() { return kNames; }

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
