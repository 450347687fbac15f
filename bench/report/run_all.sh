# Sourced by bench/run.sh, whose functions it uses: every benchmark, and the report.

# What --quick passes on. Benchmarks whose own --quick says it all have none here.
quick_make_replay=(--threads 1,2,4 --seconds 0.6 --libnfs-one-in 100)
quick_cold_walk=(--files 10000 --repetitions 3)

# The number of the benchmark, its name, its arguments. Its progress goes to the terminal.
run_one() {
  local number=$1 name=$2
  shift 2
  echo "[$number of 5] $name $*" >&2
  if ! "${become_root[@]}" "$bin/$name/$name" --json "$out/$name.json" "$@" | tee "$out/$name.txt"; then
    echo "run.sh: $name failed; what it printed is in $out/$name.txt" >&2
    exit 1
  fi
}

run_all() {
  local quick="" out=bench-results
  while [ $# -gt 0 ]; do
    case "$1" in
      --quick) quick=--quick ;;
      --out)
        [ -n "${2-}" ] || { echo "run.sh: --out needs a directory" >&2 && exit 2; }
        out=$2
        shift
        ;;
      *) echo "run.sh: --all takes --quick and --out DIR, not \"$1\"" >&2 && exit 2 ;;
    esac
    shift
  done

  third_party/install.sh report
  build make_replay warm_stat memory cold_walk inode_scale
  need_root
  mkdir -p "$out"
  /usr/bin/python3 bench/report/machine_facts.py >"$out/machine.json"
  run_one 1 make_replay ${quick:+"${quick_make_replay[@]}"}
  run_one 2 warm_stat $quick
  run_one 3 memory $quick
  run_one 4 cold_walk ${quick:+"${quick_cold_walk[@]}"}
  run_one 5 inode_scale $quick --letters-json "$out/letters.json"
  /usr/bin/python3 bench/report/make_report.py "$out" "$out/report.html"
  echo "the report: $out/report.html" >&2
  echo "the README's table: /usr/bin/python3 bench/report/readme_table.py $out README.md" >&2
}
