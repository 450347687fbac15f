"""One page of everything, that needs neither a network nor scripts nor any other file."""

import os
import re

from documents import METHOD, where
from headline import headline_table, headlines, sentences
from plots import plots
from ratios import ratio_table, ratios
from rows import ReportError
from sections import sections

try:
    import jinja2
    import markupsafe
except ImportError as error:
    raise ReportError("the page needs jinja2: run third_party/install.sh report, and then "
                      "/usr/bin/python3, which Debian's packages belong to") from error


def _code(text):
    """`make` of Markdown for HTML."""
    return markupsafe.Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(markupsafe.escape(text))))


def page(runs, drawn):
    """The HTML; `drawn` is the picture it opens with."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(os.path.dirname(os.path.abspath(__file__))), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["code"] = _code
    return environment.get_template("page.html.j2").render(
        date=runs["machine"].facts["date"], where=where(runs["machine"].facts), method=METHOD,
        picture=drawn.replace(' xmlns="http://www.w3.org/2000/svg"', ""),
        headlines=headline_table(headlines(runs)), sentences=sentences(runs),
        ratios=ratio_table(ratios(runs)), sections=sections(runs), plots=plots(runs))
