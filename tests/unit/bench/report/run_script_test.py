"""bench/run.sh, with a Bazel and benchmarks that are scripts."""

import os
import shutil
import subprocess
import tempfile
import unittest

BENCHES = ["make_replay", "warm_stat", "cold_walk", "memory", "inode_scale", "shared_lines"]
ROWS = """{"bench": "memory", "facts": {"processors": 2, "optimised": true}}
{"bench": "memory", "names": "a", "files": 1, "bytes_per_file": 417, "bytes_min": 1, "bytes_max": 2}
{"bench": "memory", "totals": {}}
"""
# Notes its arguments, writes rows, exits with $CODE; with $FAILING set that benchmark alone fails.
BENCHMARK = """#!/bin/sh
echo "$@" >>"$NOTES/NAME.arguments"
[ "${FAILING:-}" = NAME ] && exit "$CODE"
cp "$NOTES/rows" "$2"
[ -n "${FAILING:-}" ] || exit "${CODE:-0}"
"""
BAZEL = """#!/bin/sh
[ "$1" = info ] && pwd
exit 0
"""


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)


class RunScript(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = scratch.name
        shutil.copytree("bench/report", os.path.join(self.root, "bench/report"))
        shutil.copy("bench/run.sh", os.path.join(self.root, "bench/run.sh"))
        os.makedirs(self.path("third_party"))
        shutil.copy("third_party/run_bazel.sh", self.path("third_party/run_bazel.sh"))
        for name in BENCHES:
            write(self.path("bench", name, name), BENCHMARK.replace("NAME", name))
        write(self.path("third_party/install.sh"), "#!/bin/sh\n")
        write(self.path("bin/bazel"), BAZEL)
        write(self.path("bin/sudo"), '#!/bin/sh\nexec "$@"\n')
        write(self.path("notes/rows"), ROWS)

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def run_script(self, *arguments, **environment):
        environment = {**os.environ, "PATH": f"{self.path('bin')}:{os.environ['PATH']}",
                       "NOTES": self.path("notes"), **environment}
        return subprocess.run([self.path("bench/run.sh"), *arguments], capture_output=True,
                              env=environment, text=True, check=False)

    def arguments_of(self, name):
        with open(self.path(f"notes/{name}.arguments"), encoding="utf-8") as file:
            return file.read().split()

    def test_make_replay_is_the_one_to_begin_with(self):
        self.run_script("--threads", "4")
        self.assertEqual(self.arguments_of("make_replay")[2:], ["--threads", "4"])

    def test_what_is_not_asked_for_more_is_short_and_says_how_long_it_takes(self):
        done = self.run_script()
        self.assertEqual(self.arguments_of("make_replay")[2:], ["--quick"])
        self.assertRegex(done.stderr.split("\n")[0], "^run.sh: .* make")
        self.assertRegex(done.stderr, "minutes")

    def test_what_will_run_is_said_before_it_is_installed_or_built(self):
        write(self.path("third_party/install.sh"), "#!/bin/sh\necho installs >&2\nexit 1\n")
        for arguments in ([], ["memory"], ["--all"]):
            said = self.run_script(*arguments).stderr
            self.assertRegex(said, f"(?s)^run.sh: .*{(arguments or ['make'])[0].strip('-')}.*installs")

    def test_a_recording_becomes_a_plan(self):
        write(self.path("bench/trace/make_plan.py"), "import sys\nprint(*sys.argv[1:])\n")
        done = self.run_script("--trace", "a.b/mine.strace.xz", "--quick")
        out, trace = done.stdout.split("\n")[0].split()[1:]
        self.assertEqual(trace, "a.b/mine.strace.xz")
        self.assertEqual(self.arguments_of("make_replay")[2:],
                         ["--quick", "--plan", f"{out}/mine.plan"])

    def test_rows_become_tables_and_are_kept_where_they_are_wanted(self):
        done = self.run_script("memory", "--quick")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, "run.sh: builds memory, then runs it with --quick\n")
        self.assertRegex(done.stdout, r"a +1 +417.0 \(1.0-2.0\)")
        self.assertEqual(self.arguments_of("memory")[2:], ["--quick"])
        for arguments in (["--json", self.path("kept")], [f"--json={self.path('kept')}"]):
            done = self.run_script("memory", *arguments)
            self.assertIn("417.0", done.stdout)
            with open(self.path("kept"), encoding="utf-8") as file:
                self.assertEqual(file.read(), ROWS)
            os.remove(self.path("kept"))

    def test_the_exit_code_is_the_benchmarks_and_its_rows_are_shown_all_the_same(self):
        for code in (1, 130):
            done = self.run_script("memory", CODE=str(code))
            self.assertEqual(done.returncode, code)
            self.assertIn("417.0", done.stdout)
        self.assertEqual(self.run_script("memory", FAILING="memory", CODE="2").returncode, 2)

    def test_what_cannot_be_run_is_refused_by_name(self):
        for arguments, word in ((["no_such"], "no_such"), (["--all", "--rows"], "--rows"),
                                (["--all", "--out"], "--out"), (["memory", "--json"], "--json")):
            done = self.run_script(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(word, done.stderr)

    def test_all_stops_at_the_benchmark_that_fails_and_names_it(self):
        done = self.run_script("--all", "--out", self.path("out"), "--quick", FAILING="cold_walk",
                               CODE="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cold_walk failed", done.stderr)
        self.assertEqual(self.arguments_of("warm_stat")[2:], ["--quick"])
        self.assertFalse(os.path.exists(self.path("notes/memory.arguments")))
        self.assertTrue(os.path.exists(self.path("out/warm_stat.jsonl")))


if __name__ == "__main__":
    unittest.main()
