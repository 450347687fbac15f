#!/usr/bin/env bash
# What programs of others measure on `nfswalk mount` of a private nfs-ganesha, beside the same on its tmpfs and on a
# pass-through of FUSE over that (passthrough_ll.c of libfuse3-dev, with all its caches):
#   bench/mount/judges.sh [-b NFSWALK] [-t TURNS] [-n FILES]
# NFSWALK: the command, bazel-bin/nfsclient/cli/nfswalk, built optimized. TURNS [7]: of each on each, in turn. FILES
# [5000]: of the trees, a fifth of them of fio; the pass-through keeps a descriptor for each name. As root, with what
# third_party/install.sh work installs.
#   fio     filestat, filecreate and filedelete: mean microseconds a file (stat; create; unlink)
#   ninja   -d stats, a build with nothing to do: microseconds a stat; milliseconds of the whole
#   git     GIT_TRACE2_PERF of git status: milliseconds of the index's refresh, of the search for untracked files, and of
#           the whole
# Caches are warm, and their timeouts longer than the run. Prints a table: the median of the turns (least to most).
# shellcheck disable=SC2153  # WORK is server.sh's
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
subjects=(tmpfs passthrough v3 v3-nocto v4 v4-nocto)

directory_of() {
  case $1 in
    tmpfs) echo "$WORK/export/tmpfs" ;;
    passthrough) echo "$WORK/through/passthrough" ;;
    *) echo "$WORK/$1/$1" ;;
  esac
}

# "FIGURE SUBJECT VALUE"
value() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$WORK/values"; }

prepare() {
  local directory=$1 index
  mkdir -p "$directory/fio" "$directory/in" "$directory/out" "$directory/git"
  (
    cd "$directory"
    {
      # shellcheck disable=SC2016
      printf 'rule copy\n  command = cp $in $out\n  generator = 1\n'
      for ((index = 0; index < FILES; ++index)); do
        printf 'build out/%d/%d: copy in/%d/%d\n' $((index / 100)) "$index" $((index / 100)) "$index"
      done
    } >build.ninja
    for ((index = 0; index < FILES; index += 100)); do mkdir "in/$((index / 100))" "out/$((index / 100))"; done
    sed -n 's|.*copy in/|in/|p' build.ninja | xargs touch -d '2001-01-01'
    sed -n 's|^build \(.*\):.*|\1|p' build.ninja | xargs touch -d '2002-01-01'
    cp -a in git/in
    cd git
    git init -q
    git add -A
    git -c user.name=author -c user.email=author@example.org commit -qm files
    git status >/dev/null
  )
}

fio_engine() {
  local subject=$1 directory=$2 engine
  for engine in filecreate filestat filedelete; do
    rm -rf "$directory/fio" && mkdir "$directory/fio"
    fio --name=judge --ioengine="$engine" --directory="$directory/fio" --nrfiles=$((FILES / 5)) --filesize=4k \
      --openfiles=1 --fallocate=none --output-format=json --output="$WORK/fio" >/dev/null
    value "fio $engine, us" "$subject" "$(jq -r '.jobs[0] | [.read, .write, .trim] | map(.clat_ns.mean) | max / 1000' "$WORK/fio")"
  done
}

ninja_stats() {
  local subject=$1 start end
  cd "$2"
  start=$(date +%s%N)
  ninja -d stats >"$WORK/ninja"
  end=$(date +%s%N)
  grep -q 'no work to do' "$WORK/ninja"
  value "ninja, us a stat" "$subject" "$(awk '/^node stat/ { print $4; exit }' "$WORK/ninja")"
  value "ninja, ms" "$subject" "$(((end - start) / 1000))e-3"
  cd /
}

git_status() {
  local subject=$1
  cd "$2/git"
  GIT_TRACE2_PERF=$WORK/perf git status >/dev/null
  awk -F'|' -v OFS='\t' -v subject="$subject" '{ event = $4; gsub(/ /, "", event); time = $7 * 1000; text = $9 }
    event == "region_leave" && text ~ /label:(preload|refresh)/ { refresh += time }
    event == "region_leave" && text ~ /label:untracked/ { print "git status, untracked, ms", subject, time }
    event == "exit" { print "git status, ms", subject, $6 * 1000; print "git status, refresh, ms", subject, refresh }' "$WORK/perf" >>"$WORK/values"
  rm "$WORK/perf"
  cd /
}

table() {
  local subject
  printf '| figure |'
  printf ' %s |' "${subjects[@]}"
  printf '\n| --- |'
  for subject in "${subjects[@]}"; do printf ' ---: |'; done
  echo
  sort -t $'\t' -k 1,2 -k 3g "$WORK/values" | awk -F'\t' -v names="${subjects[*]}" '
    { key = $1 SUBSEP $2; if (!($1 in seen)) { seen[$1]; order[++figures] = $1 } all[key, ++count[key]] = $3 + 0 }
    END {
      columns = split(names, subject, " ")
      for (f = 1; f <= figures; ++f) {
        printf "| %s |", order[f]
        for (c = 1; c <= columns; ++c) {
          key = order[f] SUBSEP subject[c]; n = count[key]
          printf " %.1f (%.1f-%.1f) |", all[key, int((n + 1) / 2)], all[key, 1], all[key, n]
        }
        print ""
      }
    }'
}

served() {
  local turn subject directory
  export HOME=$WORK GIT_CONFIG_NOSYSTEM=1
  mkdir "$WORK/through"
  for subject in "${subjects[@]}"; do prepare "$WORK/export/$subject"; done
  # shellcheck disable=SC2046
  gcc -O2 -o "$WORK/passthrough_ll" /usr/share/doc/libfuse3-dev/examples/passthrough_ll.c \
    $(pkg-config --cflags --libs fuse3) 2>"$WORK/gcc" || { cat "$WORK/gcc" >&2; return 2; }
  ulimit -n "$(ulimit -Hn)"  # it keeps a descriptor for each file
  "$WORK/passthrough_ll" -o "source=$WORK/export,cache=always,timeout=3600" "$WORK/through"
  for subject in "${subjects[@]:2}"; do
    mkdir "$WORK/$subject"
    case $subject in *nocto) options=actimeo=3600,nocto ;; *) options=actimeo=3600 ;; esac
    "$NFSWALK" mount -o "$options" "nfs://127.0.0.1/export?version=${subject:1:1}&mountport=20048" "$WORK/$subject"
  done
  for ((turn = 0; turn <= TURNS; ++turn)); do
    for subject in "${subjects[@]}"; do
      directory=$(directory_of "$subject")
      fio_engine "$subject" "$directory"
      ninja_stats "$subject" "$directory"
      git_status "$subject" "$directory"
    done
    [ "$turn" != 0 ] || rm "$WORK/values"  # fills the caches
  done
  table
  for subject in "${subjects[@]:2}"; do fusermount3 -u "$WORK/$subject"; done
  fusermount3 -u "$WORK/through"
}

if [ "${1-}" = --served ]; then
  served
  exit
fi

nfswalk=$here/../../bazel-bin/nfsclient/cli/nfswalk
TURNS=7 FILES=5000
while getopts b:t:n: option; do
  case $option in
    b) nfswalk=$OPTARG ;;
    t) TURNS=$OPTARG ;;
    n) FILES=$OPTARG ;;
    *) sed -n '2,13s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
done
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
# Builds may go on meanwhile.
cp -L "$nfswalk" "$copy/nfswalk"
NFSWALK=$copy/nfswalk
export NFSWALK TURNS FILES
uptime | sed 's/.*load/load/'
"$here/../../tests/conformance/server.sh" "$here/judges.sh" --served
