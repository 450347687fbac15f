#!/usr/bin/env bash
# Runs a command beside a private nfs-ganesha, in network, mount and process namespaces of their own; all of it ends
# with the command:
#   tests/conformance/server.sh COMMAND [ARGUMENT...]
# The command finds nfs://$SERVER/export over versions 3 and 4.0, and a directory of its own in $WORK. $SERVER is the
# address of the tap device "tap0", for another kernel's client. Killed (SIGKILL to the process in $WORK/pid), the server
# starts again a second later. GRACE [0]: seconds that it waits then for clients to reclaim opens and locks; until they are
# over it grants no new ones, at its first start neither. DIR_CHUNK [128]: of MDCACHE. nfs-ganesha 4.3 may give a name of
# tmpfs twice, without an end, once others were renamed; 0 keeps no listings. As root.
set -euo pipefail

if [ "${1-}" != --inside ]; then
  exec unshare --net --mount --pid --fork --kill-child --mount-proc "${BASH_SOURCE[0]}" --inside "$@"
fi
shift
WORK=$(mktemp -d)
SERVER=10.9.0.1
export WORK SERVER
# The server first: it would write its log anew. All that this process has started is in its namespace.
trap 'exec 2>/dev/null; kill -KILL -1 || true; wait; umount -l "$WORK/export"; rm -rf --one-file-system "$WORK"' EXIT
# Other users walk to what is mounted in it.
chmod 0755 "$WORK"
mkdir "$WORK/export" "$WORK/recovery"
mount -t tmpfs -o mode=0755 tmpfs "$WORK/export"
mount -t tmpfs tmpfs /run
mkdir /run/rpcbind
ip link set lo up
ip tuntap add tap0 mode tap
ip address add "$SERVER/24" dev tap0
ip link set tap0 up
rpcbind
cat >"$WORK/ganesha.conf" <<END
NFS_CORE_PARAM { NFS_Protocols = 3,4; NFS_Port = 2049; MNT_Port = 20048; Enable_UDP = false; Enable_NLM = false;
  Enable_RQUOTA = false; mount_path_pseudo = true; }
NFSV4 { Graceless = $([ "${GRACE-0}" = 0 ] && echo true || echo false); Grace_Period = ${GRACE-0};
  Lease_Lifetime = 10; RecoveryBackend = fs; RecoveryRoot = $WORK/recovery; Only_Numeric_Owners = true; }
MDCACHE { Entries_HWMark = 500000; Dir_Chunk = ${DIR_CHUNK-128}; }
EXPORT_DEFAULTS { Access_Type = RW; Squash = No_Root_Squash; SecType = sys; Protocols = 3,4; Transports = TCP; }
EXPORT { Export_Id = 1; Path = $WORK/export; Pseudo = /export; FSAL { Name = VFS; } Attr_Expiration_Time = 0; }
LOG { Default_Log_Level = EVENT; }
END
# A new start is known by its second, which clients' ids contain.
while ganesha.nfsd -F -f "$WORK/ganesha.conf" -L "$WORK/log" -p "$WORK/pid"; [ $? = 137 ]; do
  rm -f "$WORK/pid"
  sleep 1
done 2>/dev/null &  # "Killed"
server=$!
until { : >"/dev/tcp/$SERVER/2049" && : >"/dev/tcp/$SERVER/20048"; } 2>/dev/null; do
  kill -0 "$server" || { tail -n 20 "$WORK/log" >&2; exit 2; }
  sleep 0.1
done
"$@"
