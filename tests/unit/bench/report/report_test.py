"""The report and the README's table, made of rows that were recorded in a short run (one size of
memory, 10 million, is made up: it would be no short run)."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import figures
import readme_table
import result_rows
import tables

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")
MAKE_REPORT = "bench/report/make_report.py"
# Debian's packages belong to Debian's Python, which need not be the first in PATH.
PYTHON = "/usr/bin/python3"


def make_report(directory, environment=None):
    """(exit code, stderr, the page or nothing)."""
    page = os.path.join(directory, "report.html")
    done = subprocess.run([PYTHON, "-B", MAKE_REPORT, directory, page], capture_output=True, text=True,
                          env={**os.environ, "MPLCONFIGDIR": tempfile.gettempdir(),
                               **(environment or {})}, check=False)
    if not os.path.exists(page):
        return done.returncode, done.stderr, ""
    with open(page, encoding="utf-8") as file:
        return done.returncode, done.stderr, file.read()


def texts_of(page):
    """What a reader sees in cells, whole cells only."""
    return set(re.findall(r"<td>([^<]*)</td>", page))


class OnRecordedRows(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = os.path.join(scratch.name, "rows")
        shutil.copytree(RECORDED, self.directory)

    def rows(self, name):
        with open(os.path.join(RECORDED, name + ".json"), encoding="utf-8") as file:
            rows = json.load(file)
        return rows if isinstance(rows, list) else rows["rows"]

    def change(self, name, edit):
        path = os.path.join(self.directory, name + ".json")
        rows = self.rows(name)
        edit(rows)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(rows, file)


class Page(OnRecordedRows):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as scratch:
            directory = shutil.copytree(RECORDED, os.path.join(scratch, "rows"))
            cls.outcome = make_report(directory)

    def page(self):
        code, error, page = self.outcome
        self.assertEqual((code, error), (0, ""))
        return page

    def test_every_row_of_every_benchmark_is_in_a_table(self):
        page = self.page()
        cells = texts_of(page.replace("&gt;", ">"))
        for row in self.rows("make_replay"):
            expected = (tables.ns_cell(row) if row["phase"] == "warm" else f"{row['ns_per_op']:,.0f}")
            self.assertIn(expected, cells, row)
        for row in self.rows("warm_stat"):
            self.assertIn(tables.ns_cell(row), cells, row)
        for row in self.rows("memory"):
            if "files" in row:
                wanted = tables.spread(row["bytes_per_file"], row["bytes_min"], row["bytes_max"], 1)
            else:
                wanted = tables.spread(row["ns_per_op"], row["ns_min"], row["ns_max"], 1)
            self.assertTrue(any(cell.startswith(wanted) for cell in cells), row)
        for name in ("cold_walk", "inode_scale"):
            for row in self.rows(name):
                wanted = tables.spread(row["seconds"], row["seconds_min"], row["seconds_max"], 4)
                self.assertIn(wanted, cells, row)
        for row in self.rows("letters"):
            wanted = f"{row['before_s']:.4g} -> {row['after_s']:.4g} s"
            self.assertTrue(any(cell.startswith(wanted) for cell in cells), row)

    def test_the_page_needs_nothing_but_itself(self):
        page = self.page()
        for outside in ("http:", "https:", "src=", "<script", "<link", "@import", "url(http"):
            self.assertNotIn(outside, page)
        self.assertEqual(len(re.findall(r"<svg\b", page)), 7)
        ids = re.findall(r'\bid="(p[0-9a-f]+)"', page)
        self.assertEqual(len(ids), len(set(ids)), "two plots share the name of a part")

    def test_machine_versions_and_what_the_benchmarks_printed_are_told(self):
        page = self.page()
        machine = result_rows.load(self.directory).machine
        for fact in [machine["cpu"], machine["kernel"], machine["date"], *machine["versions"].values()]:
            self.assertIn(fact, page)
        for bench in result_rows.BENCHES:
            self.assertIn(f"What {bench} printed", page)

    def test_rows_that_other_work_disturbed_are_marked_and_others_are_not(self):
        def calm(rows):
            for row in rows:
                if "cpu_share" in row and row["subject"] != "libnfs sync":
                    row["cpu_share"] = 1
        for name in ("make_replay", "warm_stat", "memory"):
            self.change(name, calm)
        self.assertNotIn("ther work", make_report(self.directory)[2])

        def disturb(rows):
            calm(rows)
            rows[0]["cpu_share"] = 0.5
        self.change("warm_stat", disturb)
        self.assertIn("50 %", make_report(self.directory)[2])

    def test_what_comes_from_rows_is_escaped(self):
        def rename(rows):
            rows[0]["trace"] = rows[1]["trace"] = "<b>make"
        self.change("make_replay", rename)
        _, _, page = make_report(self.directory)
        self.assertNotIn("<b>", page)
        self.assertIn("&lt;b&gt;make", page)


class MissingParts(OnRecordedRows):
    def check_refusal(self, *words, environment=None):
        code, error, page = make_report(self.directory, environment)
        self.assertEqual((code, page), (1, ""))
        for word in words:
            self.assertIn(word, error)
        self.assertNotIn("Traceback", error)

    def test_a_missing_file_is_named_with_what_writes_it(self):
        for name in sorted(os.listdir(RECORDED)):
            with self.subTest(name):
                os.rename(os.path.join(self.directory, name), os.path.join(self.directory, "away"))
                self.check_refusal(name, self.directory, "bench/run.sh --all")
                os.rename(os.path.join(self.directory, "away"), os.path.join(self.directory, name))

    def test_a_file_that_was_cut_short_is_named(self):
        with open(os.path.join(self.directory, "cold_walk.json"), "w", encoding="utf-8") as file:
            file.write("[{")
        self.check_refusal("cold_walk.json", "no JSON")

    def test_a_run_without_rows_is_named(self):
        self.change("inode_scale", lambda rows: rows.clear())
        self.check_refusal("inode_scale.json", "no rows")

    def test_a_row_without_its_spread_is_named(self):
        self.change("warm_stat", lambda rows: rows[2].pop("ns_max"))
        self.check_refusal("warm_stat.json", "row 2", "ns_max")
        shutil.copy(os.path.join(RECORDED, "warm_stat.json"), self.directory)
        self.change("memory", lambda rows: rows[-1].pop("hot"))
        self.check_refusal("memory.json", "hot")

    def test_a_missing_package_is_named_with_what_installs_it(self):
        for module in ("matplotlib", "jinja2"):
            with self.subTest(module), tempfile.TemporaryDirectory() as absent:
                with open(os.path.join(absent, module + ".py"), "w", encoding="utf-8") as file:
                    file.write("raise ImportError\n")
                self.check_refusal(module, "third_party/install.sh report",
                                   environment={"PYTHONPATH": absent})


class Figures(OnRecordedRows):
    def test_each_figure_that_was_asked_for_is_computed(self):
        results = result_rows.load(self.directory)
        asked = [figure.text for figure in figures.all_figures(results)]
        for part in ("depth 8, distinct", "depth 16", "random order", "same file", "4 identities",
                     "over ref", "negative", "bytes per cached file", "10 million", "round trips"):
            self.assertTrue(any(part in text for text in asked), part)

    def test_a_letters_figure_stands_beside_ours_without_a_verdict(self):
        results = result_rows.load(self.directory)
        lines = tables.figures_table(figures.replay_figures(results.make_replay)).lines
        line, = (line for line in lines if "rcu-locked over ref" in line[0])
        self.assertIn("NFS RCU-walk letter", line[1])
        self.assertNotIn("reached", line[3].lower())

    def test_a_ratio_is_that_of_its_two_rows(self):
        rows = [{"subject": "nfswalk", "mode": "rcu-search", "pattern": "distinct", "depth": 8,
                 "threads": 1, "identities": 1, "ns_per_op": 100, "ops_per_s": 1, "cpu_share": 1},
                {"subject": "kernel, tmpfs", "mode": "-", "pattern": "distinct", "depth": 8,
                 "threads": 1, "identities": 1, "ns_per_op": 499, "ops_per_s": 1, "cpu_share": 0.5}]
        figure, = figures.warm_figures(rows)
        self.assertEqual((figure.measured, figure.reached, figure.disturbed), ("4.99x", False, True))
        rows[1]["ns_per_op"], rows[1]["cpu_share"] = 500, 1
        figure, = figures.warm_figures(rows)
        self.assertEqual((figure.measured, figure.reached, figure.disturbed), ("5.00x", True, False))


class BestBundle(unittest.TestCase):
    @staticmethod
    def row(bundle, threads, seconds, fill_ns=0):
        names = dict(zip(("hash", "list", "lru"), bundle.split("+")))
        return {"workload": "walk", "threads": threads, "seconds": seconds, "fill_ns": fill_ns, **names}

    def test_it_is_the_fastest_at_the_most_threads_that_the_cores_can_run(self):
        rows = [self.row("H0+L0+U0", 2, 4), self.row("H1+L0+U0", 2, 2), self.row("H3+L1+U1", 2, 1),
                self.row("H1+L0+U0", 4, 1), self.row("H3+L1+U1", 4, 3),
                self.row("H0+L0+U0", 2, 0.1, fill_ns=1000)]
        self.assertEqual(tables.best_bundle(rows, "walk", 2), "H3+L1+U1")
        self.assertEqual(tables.best_bundle(rows, "walk", 4), "H1+L0+U0")
        (before, after), = tables.speedups(rows, "walk", 2).values()
        self.assertEqual((before["seconds"], after["seconds"]), (4, 1))

    def test_a_baseline_alone_is_held_against_nothing(self):
        self.assertEqual(tables.speedups([self.row("H0+L0+U0", 2, 4)], "walk", 2), {})


class Readme(OnRecordedRows):
    def test_only_what_stands_between_the_markers_changes(self):
        text = readme_table.results_text(result_rows.load(self.directory))
        before = "# a\n<!-- results -->\nold\n<!-- results -->\nafter\n"
        after = readme_table.with_results(before, text)
        self.assertTrue(after.startswith("# a\n<!-- results -->\n"))
        self.assertTrue(after.endswith("<!-- results -->\nafter\n"))
        self.assertNotIn("\nold\n", after)
        self.assertEqual(readme_table.with_results(after, text), after)

    def test_rows_machine_versions_date_and_spread_are_there(self):
        results = result_rows.load(self.directory)
        text = readme_table.results_text(results)
        for row in results.make_replay:
            if row["phase"] == "warm":
                self.assertIn(tables.ns_cell(row), text)
        flat = " ".join(text.split())
        for fact in [results.machine["cpu"], results.machine["date"], "nfs-ganesha 4.3"]:
            self.assertIn(fact, flat)
        self.assertIn(f"{sum(row['compared'] for row in results.make_replay):,} answers", flat)

    def test_a_readme_without_its_markers_is_refused(self):
        with self.assertRaisesRegex(result_rows.ReportError, "results"):
            readme_table.with_results("# a\n<!-- results -->\n", "text")


if __name__ == "__main__":
    unittest.main()
