"""The rows of shared_lines as tables."""

from rows import in_order
from table import Table, cross


def tables(facts, rows):
    """One for each workload; and what stands apart, of the most threads."""
    parts = [cross(f"{workload}: shared writes / reads a visit",
                   [row for row in rows if row["workload"] == workload],
                   lambda row: (row["policy"],), lambda row: row["threads"],
                   lambda row: f"{row['shared_writes']:.2f} / {row['shared_reads']:.2f}", ["threads"])
             for workload in in_order(row["workload"] for row in rows)]
    most = max(row["threads"] for row in rows)
    apart = Table(f"Counted apart, with {most} threads, a visit: lines that the thread which runs the "
                  "callbacks of RCU wrote last, and callbacks handed to RCU",
                  ["workload", "policies", "writes", "reads", "callbacks"],
                  [[row["workload"], row["policy"],
                    *(f"{row[key]:.2f}" for key in ("writes_after_callbacks", "reads_after_callbacks",
                                                    "callbacks"))]
                   for row in rows if row["threads"] == most], [], 2)
    return [*parts, apart]
