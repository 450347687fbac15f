#!/usr/bin/env bash
# Runs suites in a mounted directory as root, and prints what fails, a line each, sorted: "suite file number", or
# "suite file unfinished" of a test program that ends before its plan.
#   tests/conformance/suites.sh DIRECTORY SUITE...
# SUITE: a built checkout of pjdfstest or cthon04, an fsx, or an fsstress, by its path. FSX_OPERATIONS: 1,000,000.
# FSX_BYTES, of its file at most: 262144. FSSTRESS_OPERATIONS, of each of four processes: 2000.
# The last line is "ran" and the number of tests; fsx is one, and so is each group of cthon04: all but "general", which
# judges the warnings of compilers and nroff(1). fsstress has two, the second of which compares what it leaves with what
# the server has, in $WORK/export. Output of test programs that fail goes to stderr.
set -euo pipefail

directory=$1
shift
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
ran=0

# TAP: one that is marked as to be done does not fail.
failures_of() {
  local file=$1 name=$2 planned
  planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$file" | head -n 1)
  ran=$((ran + ${planned:-1}))
  { grep -v '# T[O]DO' "$file" | sed -n "s|^not ok \([0-9]*\).*|pjdfstest $name \1|p"; } || true
  if [ "$(grep -Ec '^(not )?ok' "$file")" != "${planned:-none}" ]; then echo "pjdfstest $name unfinished"; fi
}

pjdfstest() {
  local suite=$1 program name
  (cd "$suite/tests" && find . -name '*.t' -printf '%P\n' | sort) >"$output/programs"
  while read -r program; do
    name=${program%.t}
    # Each in a directory of its own, since some give the names of others away.
    mkdir -p "$directory/$name"
    (cd "$directory/$name" && sh "$suite/tests/$program") >"$output/tap" 2>"$output/errors" </dev/null || true
    failures_of "$output/tap" "$name" >"$output/failures"
    if [ -s "$output/failures" ]; then
      cat "$output/failures"
      grep -h '^not ok\|^Bail' "$output/tap" "$output/errors" | sed "s|^|$name: |" >&2 || true
    fi
    rm -rf "${directory:?}/$name" 2>/dev/null || true  # a server may refuse what a failed test left
  done <"$output/programs"
}

fsx() {
  ran=$((ran + 1))
  if ! "$1" -q -N "${FSX_OPERATIONS:-1000000}" -l "${FSX_BYTES:-262144}" -S 7 -P "$output" "$directory/fsx.data" \
    >"$output/fsx" 2>&1; then
    echo "fsx operations 1"
    tail -n 40 "$output/fsx" >&2
  fi
  rm -f "$directory/fsx.data"
}

cthon04() {
  local group
  cp -r "$1" "$output/cthon04"
  for group in basic special lock; do
    ran=$((ran + 1))
    if ! (cd "$output/cthon04" && ./runtests "-${group::1}" -f "$directory/cthon04") >"$output/group" 2>&1 </dev/null; then
      echo "cthon04 $group 1"
      tail -n 40 "$output/group" >&2
    fi
    rm -rf "${directory:?}/cthon04"
  done
}

# Names with type, mode, size, links and target; and a sum of each file.
tree_of() {
  cd "$1"
  find . -printf '%P %y %m %s %n %l\n' | LC_ALL=C sort
  find . -type f -exec sha256sum {} + | LC_ALL=C sort
}

# Without device nodes, which need more rights than a mount gives.
fsstress() {
  ran=$((ran + 2))
  mkdir "$directory/fsstress"
  if ! "$1" -c -d "$directory/fsstress" -n "${FSSTRESS_OPERATIONS:-2000}" -p 4 -s 7 -f mknod=0 >"$output/stress" 2>&1; then
    echo "fsstress operations 1"
    tail -n 40 "$output/stress" >&2
  fi
  (tree_of "$directory/fsstress") >"$output/here"
  (tree_of "${WORK:?}/export/fsstress") >"$output/there"
  if ! diff "$output/here" "$output/there" >"$output/differences"; then
    echo "fsstress tree 1"
    head -n 40 "$output/differences" >&2
  fi
  rm -rf "$directory/fsstress"
}

for suite in "$@"; do
  if [ -x "$suite/pjdfstest" ]; then
    pjdfstest "$suite"
  elif [ -x "$suite/basic/test1" ]; then
    cthon04 "$suite"
  elif [ -f "$suite" ] && [ -x "$suite" ] && [ "${suite##*/}" = fsstress ]; then
    fsstress "$suite"
  elif [ -f "$suite" ] && [ -x "$suite" ]; then
    fsx "$suite"
  else
    echo "suites.sh: '$suite': no built checkout of pjdfstest or cthon04, and no program" >&2
    exit 2
  fi
done >"$output/all"
sort -V "$output/all"
echo "ran $ran"
