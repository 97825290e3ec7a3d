"""Renders the ledger as one self-contained HTML page.

The page makes no network requests. It runs its own script and no other scripts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ms_fusion.ledger import Ledger
from ms_fusion.report import units
from ms_fusion.report.predictions import predictions
from ms_fusion.report.printable import printable_text, scope_of
from ms_fusion.report.roofline import roofline
from ms_fusion.report.view import build_view
from ms_fusion.report.wording import (
    difference_text,
    environment_text,
    flags_text,
    fused_operators,
    kernel_source_text,
    operators_text,
    rejection_sections,
    spread_text,
    summary_numbers,
    summary_rows,
    times_text,
)

REPORT_DIRECTORY = Path(__file__).parent
SCRIPTS = ("page.js", "graph.js", "bars.js", "details.js", "tables.js", "search.js", "main.js")
"""Names of the script files, in the order in which they are joined in the page."""

_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


@cache
def environment() -> Environment:
    """Returns the Jinja environment of the templates; it escapes all inserted values."""
    made = Environment(
        loader=FileSystemLoader(REPORT_DIRECTORY / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["show"] = lambda value: printable_text(str(value))
    made.filters["scope"] = scope_of
    made.filters["operators_text"] = operators_text
    made.filters["kernel_source_text"] = kernel_source_text
    made.filters["times_text"] = times_text
    made.filters["count_text"] = units.count_text
    made.filters["time_text"] = units.time_text
    made.filters["share_text"] = units.share_text
    made.filters["ulp_text"] = units.ulp_text
    return made


def embed_json(data: Any) -> Markup:
    """Returns `data` as JSON that is safe inside a script element.

    Characters that could close the element or end a line are escaped.

    >>> embed_json({"a": "</script>"})
    Markup('{"a":"\\\\u003c/script\\\\u003e"}')
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return Markup(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def _digest(text: str) -> str:
    """Returns the Content-Security-Policy source that allows the script or style `text`."""
    return (
        "'sha256-"
        f"{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
    )


@cache
def _read_static_files(*names: str) -> str:
    # Browsers normalise line ends to \n before hashing.
    return "\n".join(
        (REPORT_DIRECTORY / "static" / name).read_text("utf-8").replace("\r\n", "\n")
        for name in names
    )


def security_policy() -> str:
    """Returns the Content-Security-Policy of the page.

    The policy allows only the page's own script and style sheet.
    """
    return (
        f"default-src 'none'; script-src {_digest(_read_static_files(*SCRIPTS))}; style-src "
        f"{_digest(_read_static_files('report.css'))}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def to_html(ledger: Ledger) -> str:
    """Returns the HTML page of a ledger."""
    return (
        environment()
        .get_template("report.html")
        .render(
            ledger=ledger,
            title=printable_text(ledger.title, limit=200) or "Fusion ledger",
            subtitle=printable_text(environment_text(ledger), limit=300),
            summary=metrics(ledger),
            fused_operators=fused_operators(ledger),
            difference=difference_text(ledger),
            spread=spread_text(ledger),
            rejected=rejection_sections(ledger.rejected),
            flags=flags_text(ledger),
            facts=_facts(ledger),
            plot=roofline(ledger),
            promised=predictions(ledger),
            data=embed_json(build_view(ledger)),
            policy=security_policy(),
            style=Markup(_read_static_files("report.css")),
            script=Markup(_read_static_files(*SCRIPTS)),
        )
    )


def metrics(ledger: Ledger) -> list[dict[str, Any]]:
    """Returns the rows of the summary table.

    In each row, ``bars`` has the lengths of two bars (without fusion, with fusion), in percent of
    the longer bar. If a value is unknown or infinite, or if both are 0, ``bars`` is None.
    """
    rows = []
    for (name, old, new, change), (_, first, second, _) in zip(
        summary_rows(ledger), summary_numbers(ledger), strict=True
    ):
        bars = None
        if first is not None and second is not None and 0 < max(first, second) < math.inf:
            bars = [round(100 * part / max(first, second), 2) for part in (first, second)]
        rows.append(
            {
                "name": name,
                "before": old,
                "after": new,
                "change": change,
                "bars": bars,
                "good": change.startswith("−"),
                "bad": change.startswith("+"),
            }
        )
    return rows


def _facts(ledger: Ledger) -> list[tuple[str, str]]:
    """Returns the ledger's environment as pairs of strings (name, value).

    A nested dict or tuple is written as one line.
    """
    found = []
    for key, value in ledger.environment.items():
        if isinstance(value, dict):
            text = ", ".join(f"{name} {item}" for name, item in value.items())
        elif isinstance(value, tuple):
            text = ", ".join(map(str, value))
        else:
            text = str(value)
        found.append(
            (printable_text(key.replace("_", " ")), printable_text(text) or units.ABSENT_TEXT)
        )
    return found
