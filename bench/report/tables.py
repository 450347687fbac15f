"""The rows of make_replay, warm_stat, cold_walk and memory as tables."""

from ratios import TREE_WORKS, ceiling_of, files_per_s, kernel_client_pairs, name_of
from rows import find, in_order, is_timed
from table import Reasons, Table, cross

_REPLAY_NOTE = ("p50, p99: of every 64th call, without the time that reading the clock takes. open "
                "is replayed as open and close; one that failed, or was of no regular file, as "
                "access(R_OK). complete: walks under RCU that ended in an open "
                "that sends an RPC or, in a first pass, a listing. "
                "Directories are listed in the first pass only. Sizes of directories are not "
                "compared.")
_BUILD_NOTE = ("What is written is replayed as one truncate to the size that the file has before the "
               "next call about it. Of libnfs, only some of the calls that change nothing.")
_NS = "nanoseconds of one call on one core, median (least-most)"


def spread(middle, least, most, digits=0):
    """"12 (11-14)"."""
    return f"{middle:,.{digits}f} ({least:,.{digits}f}-{most:,.{digits}f})"


def _ns_cell(reasons, digits=0):
    def cell(row):
        if not is_timed(row):
            return reasons.cell(row["disturbed"])
        return spread(row["ns_per_op"], row["ns_min"], row["ns_max"], digits)
    return cell


def threads_text(threads):
    return "1 thread" if threads == 1 else f"{threads} threads"


def turns_note(rows):
    """How many turns the rows are made of; nothing of rows that do not say."""
    counted = sum(row.get("turns", 0) for row in rows)
    if not counted:
        return []
    repeated = sum(row.get("repeated", 0) for row in rows)
    shares = [row["share"] for row in rows if row.get("share") is not None]
    least = f", with at least {100 * min(shares):.1f} % of the processors" if shares else ""
    return [f"{counted:,} turns count{least}; {repeated:,} were disturbed and repeated."]


def _coverage_table(row):
    covered = row["coverage"]
    lines = [[name.replace("_", " "), f"{covered[key]:,}"]
             for name, key in (("lines of the trace", "lines"), ("stat calls", "stat_calls"),
                               ("answers ENOENT", "noent_answers"), ("processes", "processes"),
                               ("names of the tree", "names")) if key in covered]
    lines += [[f"compared: {kind}", f"{count:,}"]
              for kind, count in covered.get("compared", {}).items() if count]
    lines += [[f"left out: {reason}", f"{count:,}"]
              for reason, count in covered.get("left_out", {}).items() if count]
    notes = [f"Conflicting answers: {name}." for name in covered.get("conflicting", [])]
    if covered.get("truncated_last_lines"):
        notes.append("The last line stops in the middle and is ignored.")
    if covered.get("resumed_without_start"):
        notes.append(f"{covered['resumed_without_start']:,} calls began before the recording.")
    return Table(f"{row['trace']}: what is replayed, and what is not", ["", "calls"], lines, notes)


def _exits(row):
    exits = [f"{reason}={count}" for reason, count in row["need_ref"].items() if count]
    return " ".join(exits) or "-"


def _build_table(rows, processors):
    reasons, lines = Reasons(), []
    for row in rows:
        if not is_timed(row):
            time = reasons.cell(row["disturbed"])
        else:
            time = f"{row['ops'] * row['ns_per_op'] / min(row['threads'], processors) / 1e9:,.1f}"
        lines.append([row["trace"], name_of(row), str(row["threads"]), time, f"{row['rpcs']:,}",
                      f"{row['ops']:,}", f"{row['mismatches']:,}", _exits(row)])
    return Table("Full build: every call once, changes included, from the tree before it",
                 ["trace", "", "threads", "seconds", "RPCs", "compared", "differ",
                  "left RCU-walk"], lines, reasons.notes() + [_BUILD_NOTE], 2)


def build_tables(run):
    """One, if a build was replayed."""
    rows = [row for row in run.with_key("phase") if row["phase"] == "build"]
    return [_build_table(rows, run.facts["processors"])] if rows else []


def _replay_details(run):
    reasons, lines = Reasons(), []
    for row in run.with_key("phase"):
        if row["phase"] == "build":
            continue
        if not is_timed(row):
            times = [reasons.cell(row["disturbed"]), "-", "-", "-"]
        else:
            busy = min(row["threads"], run.facts["processors"]) * 1e9
            times = [f"{row['ns_per_op']:,.0f}",
                     spread(busy / row["ns_per_op"], busy / row["ns_max"], busy / row["ns_min"]),
                     *(f"{row[key]:,}" if row.get(key) else "-" for key in ("p50_ns", "p99_ns"))]
        lines.append([row["trace"], name_of(row), row["phase"], str(row["threads"]), *times,
                      f"{row['rpcs']:,}", f"{row['peek_hits']:,}", f"{row['ops']:,}",
                      f"{row['mismatches']:,}", _exits(row)])
    return Table("First passes with empty caches (cold), warm turns, and passes with full caches "
                 "whose attributes have timed out (expired)",
                 ["trace", "", "", "threads", "ns", "calls a second (least-most)", "p50 ns",
                  "p99 ns", "RPCs", "peek hits", "compared", "differ", "left RCU-walk"], lines,
                 reasons.notes() + [_REPLAY_NOTE], 3)


def replay_tables(run):
    return [*map(_coverage_table, run.with_key("coverage")), *warm_replay_tables(run),
            _replay_details(run), *build_tables(run)]


def kernel_client_table(run):
    """RPCs of our passes beside those of the kernel's NFS client."""
    lines = [[ours["trace"], mode, ours["phase"], f"{ours['rpcs']:,}", f"{theirs['rpcs']:,}",
              f"{ours['rpcs'] / theirs['rpcs']:.2f}"]
             for mode, ours, theirs in kernel_client_pairs(run)]
    return Table("RPCs of a pass with empty caches (cold) and of one with full caches whose "
                 "attributes have timed out (expired)",
                 ["trace", "", "", "nfswalk", "the kernel's client", "ratio"], lines, [], 3)


def warm_replay_tables(run):
    """One for each trace."""
    tables = []
    warm = [row for row in run.with_key("phase") if row["phase"] == "warm"]
    for trace in in_order(row["trace"] for row in warm):
        reasons = Reasons()
        shown = [row for row in warm if row["trace"] == trace]
        table = cross(f"{trace}, warm: {_NS}", shown, lambda row: (name_of(row),),
                      lambda row: row["threads"], _ns_cell(reasons), [""], threads_text)
        tables.append(table._replace(notes=reasons.notes() + turns_note(shown)))
    return tables


def _churn_table(rows):
    reasons = Reasons()
    ns_cell = _ns_cell(reasons)

    def over_rest(row):
        rest = find(rows, churn="none", directories=row["directories"])
        timed = rest and is_timed(rest) and is_timed(row)
        return f"{row['ns_per_op'] / rest['ns_per_op']:.2f}x" if timed else "-"
    lines = [[row["churn"], f"{row['directories']:,}", f"{row['changes_per_s']:,.0f}",
              f"{100 * row['prefix_hits']:.1f} %", ns_cell(row), over_rest(row)] for row in rows]
    return Table("stat at depth 8 by 1 thread beside changes elsewhere in the mount: nanoseconds of "
                 "the thread's processor time, median (least-most), and over that without changes",
                 ["changes of", "directories", "changes a second", "at a cached prefix", "ns",
                  "over none"], lines, reasons.notes() + turns_note(rows))


def warm_tables(run):
    """One for each number of threads, and one of the changes elsewhere."""
    tables = []
    rows, churn = run.with_key("pattern"), run.with_key("churn")
    for threads in sorted({row["threads"] for row in rows}):
        reasons = Reasons()
        shown = [row for row in rows if row["threads"] == threads]
        table = cross(f"{threads_text(threads)}: {_NS}", shown,
                      lambda row: (row["pattern"], row["depth"], row["identities"]), name_of,
                      _ns_cell(reasons), ["pattern", "depth", "identities"])
        tables.append(table._replace(text_columns=1, notes=reasons.notes() + turns_note(shown)))
    return tables + ([_churn_table(churn)] if churn else [])


def memory_tables(run):
    sizes = [[row["names"], f"{row['files']:,}",
              spread(row["bytes_per_file"], row["bytes_min"], row["bytes_max"], 1)]
             for row in run.with_key("bytes_per_file")]
    costs = run.with_key("entries")
    reasons = Reasons()
    ns_cell = _ns_cell(reasons, 1)

    def cell(row):
        reference = find(costs, entries=100_000, hot=row["hot"])
        if not (reference and is_timed(reference) and is_timed(row)):
            return ns_cell(row)
        return f"{ns_cell(row)}, {row['ns_per_op'] / reference['ns_per_op']:.2f}x"
    table = cross("A warm stat of the same files as the cache around them grows: nanoseconds, "
                  "median (least-most), and over that among 100,000", costs,
                  lambda row: (f"{row['entries']:,}",), lambda row: row["hot"], cell,
                  ["files cached"], lambda hot: f"{hot:,} files asked for")
    return [Table("Resident growth of a process for each cached file: dentry, inode, name, hash "
                  "tables and access rights, with the share of the directories above. Bytes, "
                  "median (least-most)", ["names", "files", "bytes a file"], sizes),
            table._replace(notes=reasons.notes() + turns_note(costs))]


def _seconds(row, key):
    return row[key] * row["files"] / 1e9


# Names the operation of each work of data.
DATA_OPERATIONS = {"write": "a MiB", "read": "a MiB", "cat": "a MiB", "random": "a READ of 4 KiB",
                   "create": "a file", "stat": "a name",
                   **{work: "a file" for work in ("cp to", "cp from", *TREE_WORKS)}}


def _processor_cells(row):
    """Microseconds of an operation: of the client, of the server."""
    return [f"{row[key] / 1000:,.2f}" if row.get(key) else "-" for key in ("cpu_ns", "server_cpu_ns")]


def rpc_tables(run):
    reasons, lines = Reasons(), []
    for row in run.rows:
        times = [reasons.cell(row["disturbed"]), "-"] if not is_timed(row) else [
            spread(*(row[key] / 1000 for key in ("ns_per_op", "ns_min", "ns_max")), digits=2),
            f"{1e9 / row['ns_per_op']:,.0f}"]
        lines.append([row["server"], row["subject"], str(row["in_flight"]), *times,
                      *_processor_cells(row)])
    return [Table("NULL calls: microseconds, median (least-most)",
                  ["server", "", "in flight", "us a call", "calls a second", "our processor us",
                   "server's"], lines, reasons.notes() + turns_note(run.rows), 2)]


def _stream_table(rows):
    reasons, lines = Reasons(), []
    for row in rows:
        time = reasons.cell(row["disturbed"]) if not is_timed(row) else spread(
            *(row[key] / 1000 for key in ("ns_per_op", "ns_min", "ns_max")), digits=1)
        lines.append([row["subject"], row["protocol"], str(row["readers"]),
                      f"{row['rss_mebibytes']:,.1f}", f"{row['limit_mebibytes']:,.1f}",
                      f"{row['rss_mebibytes'] - row['limit_mebibytes']:,.1f}", time])
    return Table("stream: MiB by which a process grows at most that writes a large file beside "
                 "threads that read, and microseconds of a MiB, median (least-most)",
                 ["", "NFS", "readers", "grows by", "may be dirty", "beyond", "us"], lines,
                 reasons.notes() + turns_note(rows), 2)


def data_tables(run):
    """One for each kind of work."""
    streams = run.with_key("rss_mebibytes")
    tables = [_stream_table(streams)] if streams else []
    for work in in_order(row["work"] for row in run.rows if row not in streams):
        reasons, lines = Reasons(), []
        rows = [row for row in run.rows if row["work"] == work]
        for row in rows:
            times = [reasons.cell(row["disturbed"]), "-"] if not is_timed(row) else [
                spread(*(row[key] / 1000 for key in ("ns_per_op", "ns_min", "ns_max")), digits=1),
                f"{1e9 / row['ns_per_op']:,.0f}"]
            rpcs = f"{row['rpcs_per_op']:.4f}" if "rpcs_per_op" in row else "-"
            lines.append([row["subject"], row["protocol"], str(row["files"]),
                          str(row["in_flight"] or "-"),
                          f"{row['round_trip_ms']} ms" if row["round_trip_ms"] else "-", *times,
                          rpcs, *_processor_cells(row)])
        what = DATA_OPERATIONS[work]
        tables.append(Table(f"{work}: microseconds of {what}, median (least-most)",
                            ["", "NFS", "files", "in flight", "delay", "us", f"{what}, a second",
                             "RPCs", "our processor us", "server's"], lines,
                            reasons.notes() + turns_note(rows), 2))
    return tables


def cold_tables(run):
    reasons, lines = Reasons(), []
    for row in run.rows:
        times = [reasons.cell(row["disturbed"]), "-", "-"] if not is_timed(row) else [
            spread(*(_seconds(row, key) for key in ("ns_per_op", "ns_min", "ns_max")), digits=4),
            f"{files_per_s(row):,.0f}", "-"]
        ceiling = ceiling_of(run.rows, row)
        if ceiling and is_timed(ceiling) and is_timed(row):
            times[2] = f"{files_per_s(row) / files_per_s(ceiling):.2f}"
        lines.append([row["subject"], row["protocol"], row["mode"], str(row["threads"]),
                      f"{row['files']:,}", f"{row['rpcs']:,}", f"{row['rpcs'] / row['files']:.4f}",
                      *times, *_processor_cells(row)])
    return [Table("Walks with empty or expired caches: seconds, median (least-most)",
                  ["", "NFS", "walk", "threads", "files", "RPCs", "RPCs a file", "seconds",
                   "files a second", "of the ceiling", "our processor us a file", "server's"], lines,
                  reasons.notes() + turns_note(run.rows), 3), *_longest_tables(run)]


def _longest_tables(run):
    lines = [[row["subject"], row["protocol"], f"{row['files']:,}",
              *(f"{row[key] / 1000:,.0f}" for key in ("round_trip_ns", "p999_ns", "longest_ns")),
              f"{row['longest_ns'] / row['round_trip_ns']:,.1f}"]
             for row in run.with_key("longest_ns")]
    return [Table("Cold stats of one in ten names of a large directory: microseconds, medians of "
                  "the turns", ["", "NFS", "files", "a lone GETATTR", "99.9 % took at most",
                                "longest", "over a GETATTR"], lines, [], 2)] if lines else []
