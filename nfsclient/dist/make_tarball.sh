#!/usr/bin/env bash
# usage: make_tarball.sh STAGE_SH VERSION OUT FILE...
#
# The archive holds one folder, nfswalk-VERSION, that works wherever it is unpacked.
set -euo pipefail
stage=$1 version=$2 out=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Two folders up from where pkg-config finds the file.
"$stage" "$version" "$work/nfswalk-$version" lib '${pcfiledir}/../..' "$@"
chmod -R u=rwX,go=rX "$work"
tar -C "$work" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -c "nfswalk-$version" |
  gzip -9n >"$out"
