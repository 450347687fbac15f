#!/usr/bin/env bash
# Prints how often each procedure has been called for a mount, "PROCEDURE count", sorted: of the kernel's client (version 4
# by the operation that a COMPOUND is for), or of nfswalk's, whose requests of FUSE follow as "fuse_OPCODE count".
#   tests/conformance/calls.sh DIRECTORY [NFSWALK]
set -euo pipefail

if [ $# = 1 ]; then
  # fs/nfs/super.c, nfs_show_stats().
  awk -v mount="$1" '$1 == "device" { ours = $5 == mount; ops = 0 } ours && /per-op statistics/ { ops = 1; next }
    ops && NF > 2 { sub(":", "", $1); print $1, $2 }' /proc/self/mountstats
else
  "$2" stats "$1" | awk '$1 == "rpc_replies_total" { print $2, $3 } $1 == "fuse_requests_total" { print "fuse_" $2, $3 }'
fi | sort
