#!/usr/bin/env bash
# Runs test suites of others on `nfswalk mount` of a private nfs-ganesha, over versions 3 and 4:
#   tests/conformance/run.sh [-b NFSWALK] [-v VERSION] [-o OPTIONS] SUITE...
# SUITE: a built checkout of pjdfstest (https://github.com/pjd/pjdfstest) or of cthon04
# (git://git.linux-nfs.org/projects/steved/cthon04.git), an fsx or an fsstress (of xfstests' or LTP's source), each by its
# path. NFSWALK: the command, bazel-bin/nfsclient/cli/nfswalk. OPTIONS: more of the mount. As root, with fuse3.
# Prints the failures (suites.sh) after "version N", then the counts, and those that are not in reference_vN.txt, which
# the kernel's client fails as well (reference.sh). Exit code: 0 without any of these, 1 with, 2 if it cannot run.
# shellcheck disable=SC2153  # WORK is server.sh's
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

# In the namespaces of the server.
mounted() {
  local nfswalk=$1 version=$2 options=$3
  shift 3
  mkdir "$WORK/mnt"
  "$nfswalk" mount -o "$options" "nfs://$SERVER/export?version=$version&port=2049&mountport=20048" "$WORK/mnt" || return 2
  local code=0
  "$here/suites.sh" "$WORK/mnt" "$@" || code=$?
  fusermount3 -u "$WORK/mnt" || code=2
  return "$code"
}

if [ "${1-}" = --mounted ]; then
  shift
  mounted "$@"
  exit
fi

nfswalk=$here/../../bazel-bin/nfsclient/cli/nfswalk
versions="3 4"
options=allow_other
while getopts b:v:o: option; do
  case $option in
    b) nfswalk=$OPTARG ;;
    v) versions=$OPTARG ;;
    o) options+=,$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
if [ $# = 0 ]; then
  sed -n '2,6s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
suites=()
for suite in "$@"; do suites+=("$(readlink -f "$suite")"); done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Builds may go on meanwhile.
cp -L "$nfswalk" "$work/nfswalk"

code=0
for version in $versions; do
  echo "version $version"
  if ! "$here/server.sh" "$here/run.sh" --mounted "$work/nfswalk" "$version" "$options" "${suites[@]}" \
    >"$work/found"; then
    echo "run.sh: version $version: the suites did not run" >&2
    exit 2
  fi
  grep -v '^ran ' "$work/found" >"$work/failed" || true
  cat "$work/failed"
  reference=$here/reference_v$version.txt
  grep -v '^#' "$reference" | sort >"$work/reference"
  sort "$work/failed" | comm -23 - "$work/reference" | sort -V >"$work/beyond"
  echo "$(sed -n 's/^ran //p' "$work/found") tests, $(wc -l <"$work/failed") failures," \
    "$(wc -l <"$work/beyond") beyond the reference"
  if [ -s "$work/beyond" ]; then
    sed 's/^/beyond the reference: /' "$work/beyond"
    code=1
  fi
done
exit "$code"
