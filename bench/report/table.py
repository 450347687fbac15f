"""A table of cells of text, for a terminal, for Markdown and for a page."""

import re
import textwrap
from typing import NamedTuple

COLUMNS = 100  # of prose


class Table(NamedTuple):
    title: str  # a sentence; empty: none
    header: list
    lines: list  # of lists of cells; empty: the notes alone
    notes: list = []  # sentences below
    text_columns: int = 1  # columns that begin with words; those after them are numbers


class Reasons:
    """Reasons why cells are left out, each with the number that stands in its cells. Reasons that
    differ in nothing but figures share one."""

    def __init__(self):
        self._alike = {}  # {reason without figures: [reason]}

    def cell(self, reason):
        kind = re.sub(r"\d+", "", reason)
        self._alike.setdefault(kind, []).append(reason)
        return f"left out [{list(self._alike).index(kind) + 1}]"

    def notes(self):
        notes = []
        for number, reasons in enumerate(self._alike.values(), 1):
            others = f" (the first of {len(reasons):,})" if len(set(reasons)) > 1 else ""
            notes.append(f"[{number}] {reasons[0]}{others}")
        return notes


def wrapped(paragraph):
    return textwrap.fill(paragraph, COLUMNS, break_long_words=False, break_on_hyphens=False)


def as_text(table):
    """For a terminal: columns aligned, notes below."""
    parts = [wrapped(table.title)] if table.title else []
    if table.lines:
        lines = [table.header, *table.lines]
        widths = [max(map(len, column)) for column in zip(*lines)]
        for line in lines:
            cells = [cell.ljust(width) if place < table.text_columns else cell.rjust(width)
                     for place, (cell, width) in enumerate(zip(line, widths))]
            parts.append("  ".join(cells).rstrip())
    return "\n".join(parts + [wrapped(note) for note in table.notes])


def as_markdown(table):
    """The title as a paragraph above a pipe table, the notes as paragraphs below."""
    parts = [wrapped(table.title)] if table.title else []
    if table.lines:
        rule = ["---" if place < table.text_columns else "---:"
                for place in range(len(table.header))]
        lines = [table.header, rule, *table.lines]
        parts.append("\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |"
                               for line in lines))
    return "\n\n".join(parts + [wrapped(note) for note in table.notes])


def cross(title, rows, line_keys, column_key, cell, header, column=str):
    """A line for each `line_keys(row)`, a column for each `column_key(row)`, as they come."""
    columns = list(dict.fromkeys(column_key(row) for row in rows))
    lines = {}
    for row in rows:
        lines.setdefault(line_keys(row), {})[column_key(row)] = cell(row)
    return Table(title, header + [column(value) for value in columns],
                 [[str(part) for part in key] + [cells.get(value, "-") for value in columns]
                  for key, cells in lines.items()], text_columns=len(header))
