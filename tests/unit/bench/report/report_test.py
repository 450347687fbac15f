"""Terminal tables, the page, docs/results.md, its picture and README.md, made of example
rows: in the form that the benchmarks write, with figures that are no results of any run."""

import json
import os
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import documents
import headline
import letters
import picture
import ratios
import render
import rows
import tables
from table import Reasons, Table, as_markdown, as_text

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded", "rows.jsonl")
RENDER = "bench/report/render.py"
# Debian's packages belong to Debian's Python, which need not be the first in PATH.
PYTHON = "/usr/bin/python3"
REASON = "5 of 10 turns got less than 95 % of the processors, at best 83 %"


def recorded():
    with open(RECORDED, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read(lines):
    """The runs of these rows, by way of a file."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for line in lines:
            file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
        file.flush()
        return rows.read([file.name])


def disturbed(row):
    """The row without its times, if it has any."""
    times = ("ns_per_op", "ns_min", "ns_max", "turns", "repeated", "share", "p50_ns", "p99_ns")
    kept = {key: value for key, value in row.items() if key not in times}
    return {**kept, "disturbed": REASON} if "ns_per_op" in row else row


def render_files(lines, *outputs, environment=None):
    """(exit code, stderr, [text of each output, or nothing])."""
    with tempfile.TemporaryDirectory() as scratch:
        source = os.path.join(scratch, "rows.jsonl")
        with open(source, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        paths = [os.path.join(scratch, output) for output in outputs]
        options = [part for output, path in zip(outputs, paths) for part in (f"--{output}", path)]
        done = subprocess.run([PYTHON, "-B", RENDER, source, *options], capture_output=True,
                              env={**os.environ, "MPLCONFIGDIR": scratch, **(environment or {})},
                              text=True, check=False)
        texts = []
        for path in paths:
            texts.append("")
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    texts[-1] = file.read()
        return done.returncode, done.stderr, texts


class Rows(unittest.TestCase):
    def test_runs_come_in_one_order_whatever_the_order_of_their_files(self):
        lines = recorded()
        backwards = sorted(lines, key=lambda line: line["bench"], reverse=True)
        self.assertEqual(list(read(lines)), list(read(backwards)))

    def test_a_later_run_takes_the_place_of_an_earlier_one(self):
        lines = recorded()
        again = [line for line in lines if line["bench"] == "memory"]
        self.assertEqual(len(read(lines + again)["memory"].rows), len(read(lines)["memory"].rows))

    def test_what_is_no_row_is_refused_with_its_place_and_what_is_wrong(self):
        facts = {"bench": "warm_stat", "facts": {"processors": 2}}
        row = next(line for line in recorded() if line.get("pattern"))
        for lines, words in (
                (["[{"], ["line 1", "no JSON"]),
                (["[]"], ["line 1", "no row"]),
                ([{"bench": "no_such"}], ["line 1", "no row"]),
                ([row], ["before the facts", "warm_stat"]),
                ([facts], ["warm_stat has no rows"]),
                ([facts, {"bench": "warm_stat", "mode": "-"}], ["line 2", "another version"]),
                ([facts, {key: row[key] for key in row if key != "ns_max"}], ["line 2", "ns_max"]),
                ([facts, {key: row[key] for key in row if key != "depth"}], ["line 2", "depth"])):
            with self.subTest(words), self.assertRaises(rows.ReportError) as raised:
                read(lines)
            for word in words:
                self.assertIn(word, str(raised.exception))
        with self.assertRaisesRegex(rows.ReportError, "/nonexistent/rows: No such file"):
            rows.read(["/nonexistent/rows"])

    def test_a_disturbed_row_needs_no_times(self):
        run = read(map(disturbed, recorded()))["warm_stat"]
        self.assertFalse(any(map(rows.is_timed, run.rows)))


class Tables(unittest.TestCase):
    def test_columns_are_aligned_and_cells_escaped(self):
        table = Table("Title", ["what", "ns"], [["a|b", "7"], ["longer", "1,000"]], ["[1] a note"])
        self.assertEqual(as_text(table),
                         "Title\nwhat       ns\na|b         7\nlonger  1,000\n[1] a note")
        self.assertEqual(as_markdown(table),
                         "Title\n\n| what | ns |\n| --- | ---: |\n| a\\|b | 7 |\n"
                         "| longer | 1,000 |\n\n[1] a note")

    def test_reasons_that_differ_in_figures_alone_share_a_number(self):
        reasons = Reasons()
        cells = [reasons.cell(reason) for reason in ("a 83 %", "b", "a 7 %", "b")]
        self.assertEqual(cells, [f"left out [{number}]" for number in (1, 2, 1, 2)])
        self.assertEqual(reasons.notes(), ["[1] a 83 % (the first of 2)", "[2] b"])


def cells_of(row):
    """What a reader must find of a row in some cell."""
    if row["bench"] == "shared_lines":
        return [f"{row['shared_writes']:.2f} / {row['shared_reads']:.2f}"]
    if "bytes_per_file" in row:
        return [tables.spread(row["bytes_per_file"], row["bytes_min"], row["bytes_max"], 1)]
    if row.get("phase") in ("cold", "expired", "build"):
        return [f"{row['ops']:,}", f"{row['rpcs']:,}"]
    times = [row[key] for key in ("ns_per_op", "ns_min", "ns_max")]
    if row["bench"] == "cold_walk":
        return [tables.spread(*(ns * row["files"] / 1e9 for ns in times), digits=4)]
    return [tables.spread(*times, digits=1 if "entries" in row else 0)]


class EveryRow(unittest.TestCase):
    def measured(self):
        return [line for line in recorded()
                if not {"facts", "totals", "coverage", "hold"} & set(line)]

    def test_is_in_a_table_on_the_terminal_and_in_the_results(self):
        runs = read(recorded())
        shown = {"terminal": render.terminal_text(runs), "results": documents.results_text(runs)}
        for row in self.measured():
            for cell in cells_of(row):
                for where, text in shown.items():
                    self.assertIn(cell, text, (where, row))

    def test_that_was_disturbed_has_its_reason_in_the_place_of_its_times_and_keeps_its_counts(self):
        runs = read(map(disturbed, recorded()))
        terminal = render.terminal_text(runs)
        for text in (terminal, documents.results_text(runs)):
            self.assertIn(REASON, " ".join(text.split()))
            for row in self.measured():
                if "ns_per_op" in row and row.get("phase") not in ("cold", "expired", "build"):
                    self.assertNotIn(cells_of(row)[0], text)
        for row in self.measured():
            if "rpcs" in row:
                self.assertRegex(terminal, rf"\b{row['rpcs']:,}\b")

    def test_over_the_servers_of_linux_is_in_the_results(self):
        runs = read(recorded())
        text = documents.results_text(runs, over_linux=[runs["make_replay"]])
        self.assertIn("over the Linux kernel's server", text)
        ours = [row for row in runs["make_replay"].with_key("phase") if row["subject"] == "nfswalk"]
        self.assertIn(f"{sum(row['ops'] for row in ours):,} answers compared", text)
        for table in map(as_markdown, tables.warm_replay_tables(runs["make_replay"])):
            self.assertEqual(text.count(table), 2)

    def test_a_whole_build_has_a_table_of_its_own(self):
        run = read(recorded())["make_replay"]
        table, = tables.build_tables(run)
        self.assertEqual(table.lines, [["git-build", "v4-cto", "2", "3.2", "54,321",
                                        "795,845", "0", "lookup_rpc=9000 changed=12"]])
        self.assertIn(table, tables.replay_tables(run))
        run.rows = [row for row in run.rows if row.get("phase") != "build"]
        self.assertEqual(tables.build_tables(run), [])

    def test_of_a_trace_tells_what_was_left_out_of_it(self):
        text = render.terminal_text(read(recorded()))
        for line in recorded():
            for reason, count in line.get("coverage", {}).get("left_out", {}).items():
                self.assertEqual(bool(count), f"left out: {reason}" in text, reason)


class BesideTheKernelsClient(unittest.TestCase):
    @staticmethod
    def replayed(subject, mode, phase, rpcs):
        return {"bench": "make_replay", "trace": "git-null", "phase": phase, "subject": subject,
                "mode": mode, "threads": 1, "ops": 9, "mismatches": 0, "rpcs": rpcs,
                "need_ref": {}, "peek_hits": 0, "disturbed": "slow"}

    def runs(self):
        return read([{"bench": "make_replay", "facts": {"processors": 1, "server": "s",
                                                        "lifetime_s": 600}},
                     self.replayed("nfswalk", "v3-expired", "cold", 50),
                     self.replayed("kernel, nfs v3-expired", "-", "cold", 100),
                     self.replayed("nfswalk", "v3-expired", "expired", 30),
                     self.replayed("nfswalk", "v4-expired", "expired", 1),
                     self.replayed("kernel, nfs v3-expired", "-", "expired", 600),
                     {"bench": "make_replay", "totals": {}}])

    def test_each_pass_of_both_is_compared_though_its_time_says_nothing(self):
        run = self.runs()["make_replay"]
        self.assertEqual([line[2:] for line in tables.kernel_client_table(run).lines],
                         [["cold", "50", "100", "0.50"], ["expired", "30", "600", "0.05"]])
        figure, = [figure for figure in ratios.ratios({"make_replay": run})
                   if "kernel's NFS client" in figure.text]
        self.assertEqual((figure.measured, figure.reached), ("0.05x", True))

    def test_is_in_the_results(self):
        beside = self.runs()["make_replay"]
        text = documents.results_text(read(recorded()), beside_kernel=[beside])
        self.assertIn(as_markdown(tables.kernel_client_table(beside)), text)
        self.assertIn("600 s", text)


class LongestStats(unittest.TestCase):
    def test_is_held_against_a_round_trip(self):
        row = {"bench": "cold_walk", "subject": "nfswalk", "protocol": "v3", "mode": "large",
               "threads": 1, "files": 20000, "rpcs": 20003, "ns_per_op": 1, "ns_min": 1,
               "ns_max": 1, "longest_ns": 400_000, "p999_ns": 90_000, "round_trip_ns": 100_000}
        calls = row | {"subject": "raw calls", "longest_ns": 200_000}
        runs = read([{"bench": "cold_walk", "facts": {}}, row, calls,
                     {"bench": "cold_walk", "totals": {}}])
        figure, beside_calls = ratios.ratios(runs)
        self.assertIn("200,000 names", figure.text)
        self.assertEqual((figure.measured, figure.reached), ("4.0x", False))
        self.assertEqual(tables.cold_tables(runs["cold_walk"])[1].lines,
                         [["nfswalk", "v3", "20,000", "100", "90", "400", "4.0"],
                          ["raw calls", "v3", "20,000", "100", "90", "200", "2.0"]])
        self.assertEqual((beside_calls.measured, beside_calls.reached), ("2.0x", None))


class Streams(unittest.TestCase):
    ROW = {"bench": "data", "work": "stream", "protocol": "v3", "subject": "nfswalk", "files": 1,
           "in_flight": 0, "round_trip_ms": 0, "readers": 12, "rss_mebibytes": 96.5,
           "limit_mebibytes": 64, "ns_per_op": 2_000, "ns_min": 1_000, "ns_max": 3_000}

    def run_of(self, *measured):
        return read([{"bench": "data", "facts": {}}, *measured, {"bench": "data", "totals": {}}])

    def test_are_held_against_the_limit_and_32_mebibytes_though_others_disturb_them(self):
        for mebibytes, beyond, reached in ((96.5, "32.5 MiB", False), (96, "32.0 MiB", True)):
            for row in ({**self.ROW, "rss_mebibytes": mebibytes},
                        disturbed({**self.ROW, "rss_mebibytes": mebibytes})):
                figure, = ratios.ratios(self.run_of(row))
                self.assertEqual((figure.measured, figure.reached), (beyond, reached))

    def test_have_a_table_of_their_own(self):
        wrote = {key: value for key, value in self.ROW.items()
                 if key not in ("readers", "rss_mebibytes", "limit_mebibytes")}
        run = self.run_of({**wrote, "work": "write"}, self.ROW)["data"]
        streams, writes = tables.data_tables(run)
        self.assertEqual(streams.lines, [["nfswalk", "v3", "12", "96.5", "64.0", "32.5",
                                          "2.0 (1.0-3.0)"]])
        self.assertEqual(len(writes.lines), 1)
        self.assertIn("96.5", documents.results_text({**read(recorded()), "data": run}))

    def test_need_a_limit(self):
        row = {key: self.ROW[key] for key in self.ROW if key != "limit_mebibytes"}
        with self.assertRaisesRegex(rows.ReportError, "limit_mebibytes"):
            self.run_of(row)


def warm(subject, mode, ns, **more):
    key = {"pattern": "distinct", "depth": 8, "threads": 1, "identities": 1}
    return {"bench": "warm_stat", "subject": subject, "mode": mode, **key, "ns_per_op": ns,
            "ns_min": ns, "ns_max": ns, **more}


def warm_runs(*measured):
    return read([{"bench": "warm_stat", "facts": {"processors": 2}}, *measured,
                 {"bench": "warm_stat", "totals": {}}])


class Headlines(unittest.TestCase):
    OURS = warm("nfswalk", "rcu-search", 100)

    def lines(self, *measured):
        return headline.headline_table(headline.headlines(warm_runs(*measured)))

    def test_every_row_is_found_in_a_whole_run(self):
        found = headline.headlines(read(recorded()))
        self.assertEqual([len(each.pairs) for each in found], [1, 2, 1, 2])

    def test_the_fastest_of_the_others_is_what_we_are_held_against(self):
        table = self.lines(self.OURS, warm("libnfs sync", "-", 900),
                           warm("kernel, tmpfs", "-", 350), warm("nfswalk", "ref", 150))
        self.assertEqual(table.lines, [["warm `stat` at depth 8", "100 ns a call",
                                        "350 ns, kernel on tmpfs", "3.5x"]])

    def test_no_ratio_is_made_of_a_disturbed_row(self):
        kernel = warm("kernel, tmpfs", "-", 350)
        libnfs = warm("libnfs sync", "-", 90000)
        for measured in ((disturbed(self.OURS), kernel), (self.OURS, disturbed(kernel)),
                         (self.OURS, libnfs, disturbed(kernel))):
            table = self.lines(*measured)
            self.assertEqual(table.lines, [["warm `stat` at depth 8", "left out [1]", "-", "-"]])
            self.assertEqual(table.notes, [f"[1] {REASON}"])

    def test_a_time_reads_well_in_the_unit_of_ours(self):
        for ns, like, text in ((152.4, 152, "152 ns"), (2004, 152, "2,004 ns"),
                               (2004, 1500, "2.0 µs"), (3.2e6, 2e6, "3.2 ms")):
            self.assertEqual(headline.time_text(ns, like), text)

    def test_sentences_tell_of_answers_round_trips_and_bytes(self):
        lines = recorded()
        for line in lines:
            if line.get("subject") == "libnfs sync" and "phase" in line:
                line["mismatches"] = 5
        text = " ".join(headline.sentences(read(lines)))
        ours = [line for line in lines if "phase" in line and line["subject"] == "nfswalk"]
        self.assertIn(f"{sum(line['ops'] for line in ours):,} answers", text)
        self.assertIn(", 0 differ", text)
        self.assertIn("sent 0 RPCs with `nocto` and left RCU-walk 0 times", text)
        self.assertIn("1 round trip for", text)
        self.assertIn("bytes a cached file", text)


class Ratios(unittest.TestCase):
    def test_each_is_computed_from_a_whole_run(self):
        text = " ".join(figure.text for figure in ratios.ratios(read(recorded())))
        for part in ("depth 8, distinct", "depth 16", "random order", "one file", "4 identities",
                     "nopathcache", "a map's", "open and close at depth 8, 4 threads",
                     "open and close at depth 8, 1 thread", "RPCs of an open and close",
                     "everything expired, RPCs", "everything expired, time",
                     "1 ms round trips",
                     "over ref", "negative", "bytes of a cached file", "10 million", "round trips",
                     "RPCs a file", "over libnfs", "not listed ahead", "raw-call ceiling"):
            self.assertIn(part, text)

    def test_each_is_that_of_its_two_rows(self):
        for kernel_ns, measured, reached in ((499, "4.99x", False), (500, "5.00x", True)):
            runs = warm_runs(warm("nfswalk", "rcu-search", 100),
                             warm("kernel, tmpfs", "-", kernel_ns))
            figure, = ratios.ratios(runs)
            self.assertEqual((figure.measured, figure.reached), (measured, reached))

    def test_opens_and_expired_passes_are_held_against_their_rpcs(self):
        measured = {figure.text: figure.measured for figure in ratios.ratios(read(recorded()))}
        self.assertEqual(measured["linux-null: v3 with close-to-open, RPCs of an open and close"],
                         "1.00")
        self.assertEqual(measured["linux-null: v3, everything expired, RPCs over those of empty "
                                  "caches"], "0.53x")

    def test_a_map_is_a_target_for_times(self):
        figure = next(figure for figure in ratios.ratios(read(recorded()))
                      if "a map's" in figure.text)
        self.assertEqual((figure.measured, figure.reached), ("4.17x", False))

    def test_calls_a_second_grow_by_the_processors_in_use(self):
        one = warm("nfswalk", "rcu-search", 100, pattern="same-file")
        figure, = ratios.ratios(warm_runs(one, {**one, "threads": 2, "ns_per_op": 125}))
        self.assertEqual(figure.measured, "1.60x")

    def test_a_letters_figure_is_no_target(self):
        figure = next(figure for figure in ratios.ratios(read(recorded()))
                      if "rcu-locked over ref" in figure.text)
        self.assertEqual((figure.letter, figure.target), ("about 1.2x", ""))
        self.assertIsNone(figure.reached)

    def test_targets_have_a_page_of_their_own_and_the_results_none(self):
        runs = read(recorded())
        figures = ratios.ratios(runs)
        with_target = [figure for figure in figures if figure.target]
        self.assertTrue(0 < len(with_target) < len(figures))
        page, results = documents.targets_text(runs), documents.results_text(runs)
        for figure in with_target:
            self.assertIn(f"| {figure.text} | {figure.target} | {figure.measured} |", page)
            self.assertIn(f"| {figure.text} | {figure.measured} |", results)
        self.assertEqual(page.count("reached |") + page.count("MISSED |"), len(with_target))
        for word in ("at least", "at most", "MISSED"):
            self.assertNotIn(word, results[:results.index("The null make")])

    def test_none_is_made_of_a_disturbed_row(self):
        for figure in ratios.ratios(read(map(disturbed, recorded()))):
            if not any(word in figure.text for word in ("bytes", "RPCs", "round trips")):
                self.assertEqual((figure.measured, figure.reached), ("", None), figure)
                self.assertEqual(figure.reason, REASON)


class Picture(unittest.TestCase):
    def test_is_an_image_with_colours_for_light_and_dark(self):
        svg = picture.picture(headline.headlines(read(recorded())), "caption")
        ElementTree.fromstring(svg)
        self.assertIn("prefers-color-scheme: dark", svg)
        self.assertEqual(len(re.findall(r'"nw-text nw-ratio"', svg)), 6)

    def test_is_as_long_as_the_times_are(self):
        svg = picture.picture(headline.headlines(warm_runs(
            warm("nfswalk", "rcu-search", 100), warm("kernel, tmpfs", "-", 400))), "caption")
        ours, best = map(float, re.findall(r'<rect class="nw-o.*?width="([\d.]+)"', svg))
        self.assertAlmostEqual(best / ours, 4, places=1)

    def test_without_undisturbed_rows_says_so(self):
        svg = picture.picture(headline.headlines(read(map(disturbed, recorded()))), "caption")
        self.assertIn("left out", svg)
        self.assertNotIn("×", svg)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.code, cls.error, (cls.page,) = render_files(recorded(), "page")

    def test_opens_with_the_picture_and_the_rows(self):
        self.assertEqual((self.code, self.error), (0, ""))
        self.assertLess(self.page.index("nw-card"), self.page.index("<table"))
        first = self.page[self.page.index("<table"):self.page.index("</table>")]
        self.assertIn("best of the others", first)
        self.assertEqual(first.count("<tr>"), 5)

    def test_needs_nothing_but_itself(self):
        for outside in ("http:", "https:", "src=", "<script", "<link", "@import", "url(http"):
            self.assertNotIn(outside, self.page)
        ids = re.findall(r'\bid="(p[0-9a-f]+)"', self.page)
        self.assertEqual(len(ids), len(set(ids)), "two plots share the name of a part")

    def test_has_plots_of_every_benchmark_with_times(self):
        sections = self.page.split("<h2")
        for bench, count in (("make_replay", 1), ("warm_stat", 3), ("cold_walk", 1), ("memory", 1),
                             ("inode_scale", 1), ("shared_lines", 0)):
            section, = (section for section in sections if f'id="{bench}"' in section)
            self.assertEqual(len(re.findall(r"<svg\b", section)), count, bench)

    def test_has_the_letters_figures_the_machine_and_the_versions(self):
        for row in letters.rows():
            self.assertIn(f"{row['before_s']:.3f} -&gt; {row['after_s']:.3f} ", self.page, row)
        machine = read(recorded())["machine"].facts
        for fact in [machine["cpu"], machine["kernel"], machine["date"],
                     *machine["versions"].values()]:
            self.assertIn(fact, self.page)

    def test_escapes_rows_and_shows_the_reason_of_disturbed_ones(self):
        lines = [disturbed({**line, "trace": "<b>make"} if "trace" in line else line)
                 for line in recorded()]
        code, error, (page,) = render_files(lines, "page")
        self.assertEqual((code, error), (0, ""))
        self.assertIn(REASON, page)
        self.assertNotIn("<b>", page)
        self.assertIn("&lt;b&gt;make", page)


class Refusals(unittest.TestCase):
    def check(self, lines, *words, environment=None):
        code, error, (page,) = render_files(lines, "page", environment=environment)
        self.assertEqual((code, page), (1, ""))
        for word in words:
            self.assertIn(word, error)
        self.assertNotIn("Traceback", error)

    def test_a_page_of_a_run_that_ended_early_or_of_no_named_machine(self):
        lines = recorded()
        for totals in ([], [{"bench": "cold_walk", "totals": {"interrupted": True}}]):
            self.check([line for line in lines
                        if line["bench"] != "cold_walk" or "totals" not in line] + totals,
                       "cold_walk", "ended early")
        self.check([line for line in lines if line["bench"] != "machine"], "machine")

    def test_a_missing_package_is_named_with_what_installs_it(self):
        for module in ("matplotlib", "jinja2"):
            with self.subTest(module), tempfile.TemporaryDirectory() as absent:
                with open(os.path.join(absent, module + ".py"), "w", encoding="utf-8") as file:
                    file.write("raise ImportError\n")
                self.check(recorded(), module, "third_party/install.sh report",
                           environment={"PYTHONPATH": absent})

    def test_a_debug_build_is_called_one_and_refused_for_a_page(self):
        lines = recorded()
        for line in lines:
            line.get("facts", {})["optimised"] = False
        self.check(lines, "debug build", "-c opt")
        self.assertIn("NOT OPTIMISED", render.terminal_text(read(lines)))
        self.assertNotIn("NOT OPTIMISED", render.terminal_text(read(recorded())))


class Readme(unittest.TestCase):
    def test_rows_and_sentences_replace_what_stands_between_the_markers(self):
        text = documents.readme_text(read(recorded()))
        before = "# a\n<!-- results -->\nold\n<!-- results -->\nafter\n"
        after = documents.with_results(before, text)
        self.assertTrue(after.startswith("# a\n<!-- results -->\n"))
        self.assertTrue(after.endswith("<!-- results -->\nafter\n"))
        self.assertNotIn("\nold\n", after)
        self.assertEqual(documents.with_results(after, text), after)
        lines = text.split("\n")
        self.assertEqual([line.count("|") for line in lines if line.startswith("|")], [5] * 6)
        self.assertEqual(len([line for line in lines if line.startswith("- ")]), 3)
        with self.assertRaisesRegex(rows.ReportError, "results"):
            documents.with_results("# a\n<!-- results -->\n", text)


if __name__ == "__main__":
    unittest.main()
