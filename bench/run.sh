#!/usr/bin/env bash
# Installs what is missing, builds optimised, runs a benchmark and shows its rows as tables. Each
# starts an nfs-ganesha of its own where it needs one.
#
# bench/run.sh                              the short form of make_replay
# bench/run.sh [NAME] [ARGUMENTS]           one of those below [make_replay]; takes --quick, --help
# bench/run.sh make_replay --trace FILE     another recording of `strace -f -y -e trace=%file,...`
# bench/run.sh --all [--quick] [--out DIR]  all of them; leaves their rows, report.html, results.md,
#                                           results.svg and targets.md in DIR [bench-results]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

benches=(make_replay warm_stat cold_walk rpc data memory inode_scale shared_lines)
python=/usr/bin/python3  # Debian's packages belong to it

say() {
  echo "run.sh: $1" >&2
}

fail() {
  echo "run.sh: $2" >&2
  exit "$1"
}

# The servers and the kernel's tmpfs need root; the build does not.
become_root=()
need_root() {
  [ "$(id -u)" -ne 0 ] || return 0
  command -v sudo >/dev/null ||
    fail 1 "not root and no sudo: neither nfs-ganesha nor a private tmpfs can start"
  become_root=(sudo)
}

# Builds these benchmarks and sets `bin` to where their folders are.
build() {
  third_party/run_bazel.sh build -c opt "${@/#///bench/}" </dev/null >&2
  bin=$(bazel info -c opt bazel-bin 2>/dev/null)/bench
}

# NAME FILE ARGUMENTS: its rows into FILE.
measure() {
  local name=$1 rows=$2
  shift 2
  "${become_root[@]}" "$bin/$name/$name" --json "$rows" "$@"
}

render() {
  "$python" bench/report/render.py "$@"
}

run_one() {
  local name=make_replay status=0 keep="" short="" arguments=() traces=() trace scratch
  if [ $# -eq 0 ]; then
    say "replays the null makes of git and Linux over NFS 3 and 4, on tmpfs and with libnfs: up to 5
  minutes on two processors. What is missing is installed and built first, which takes 5 to 15
  minutes, once. \"bench/run.sh make_replay\" takes more turns, and replays a whole build, too."
    short=yes
    set -- --quick
  fi
  if [ $# -gt 0 ] && [[ $1 != -* ]]; then
    name=$1
    shift
  fi
  [[ " ${benches[*]} " == *" $name "* ]] || fail 2 "\"$name\" is none of ${benches[*]}"
  while [ $# -gt 0 ]; do
    case "$1" in
      --json)
        [ -n "${2-}" ] || fail 2 "--json needs a file"
        keep=$2
        shift
        ;;
      --json=*) keep=${1#--json=} ;;
      --trace)
        [ -n "${2-}" ] || fail 2 "--trace needs a file"
        traces+=("$2")
        shift
        ;;
      *) arguments+=("$1") ;;
    esac
    shift
  done
  [ -n "$short" ] ||
    say "builds $name, then runs it with ${arguments[*]:-its defaults; --quick takes less}"
  third_party/install.sh
  build "$name"
  need_root
  scratch=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$scratch'" EXIT
  "$python" bench/report/machine_facts.py >"$scratch/machine.jsonl"
  for trace in "${traces[@]}"; do
    "$python" bench/trace/make_plan.py --out "$scratch" "$trace"
    trace=${trace##*/}
    arguments+=(--plan "$scratch/${trace%%.*}.plan")
  done
  # Ctrl-C is for the benchmark, which cleans up; what it found by then is shown.
  trap : INT
  measure "$name" "$scratch/rows.jsonl" "${arguments[@]}" || status=$?
  [ -z "$keep" ] || [ ! -e "$scratch/rows.jsonl" ] || cp "$scratch/rows.jsonl" "$keep"
  [ ! -s "$scratch/rows.jsonl" ] || render "$scratch/machine.jsonl" "$scratch/rows.jsonl" || exit 1
  exit "$status"
}

run_all() {
  local quick=() out=bench-results number=0 files name
  while [ $# -gt 0 ]; do
    case "$1" in
      --quick) quick=(--quick) ;;
      --out)
        [ -n "${2-}" ] || fail 2 "--out needs a directory"
        out=$2
        shift
        ;;
      *) fail 2 "--all takes --quick and --out DIR, not \"$1\"" ;;
    esac
    shift
  done
  say "builds and runs all ${#benches[@]} benchmarks${quick[*]:+ with --quick}, one after the other"
  third_party/install.sh report
  build "${benches[@]}"
  need_root
  mkdir -p "$out"
  "$python" bench/report/machine_facts.py >"$out/machine.jsonl"
  files=("$out/machine.jsonl")
  for name in "${benches[@]}"; do
    number=$((number + 1))
    echo "[$number of ${#benches[@]}] $name ${quick[*]}" >&2
    measure "$name" "$out/$name.jsonl" "${quick[@]}" || fail "$?" "$name failed"
    files+=("$out/$name.jsonl")
    render "$out/machine.jsonl" "$out/$name.jsonl"
  done
  render "${files[@]}" --page "$out/report.html" --results "$out/results.md" \
    --picture "$out/results.svg" --targets "$out/targets.md"
  echo "the page: $out/report.html" >&2
  echo "to keep the results: $python bench/report/render.py $out/*.jsonl \\
  --results docs/results.md --picture docs/results.svg --targets docs/targets.md --readme README.md" >&2
}

if [ "${1-}" = --all ]; then
  shift
  run_all "$@"
else
  run_one "$@"
fi
