"""The page as text: self-contained, small, and with every name of the model as data."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ms_fusion.graph import Graph, Source, Value
from ms_fusion.ledger import Build, BuildStep, CarriedKernel, HotSpot, Ledger, Suggestion
from ms_fusion.report.html import embed_json
from ms_fusion.report.roofline import roofline
from ms_fusion.report.view import build_view
from tbe_impl.errors import InputError
from tests.cases import cases
from tests.ms_fusion.report.ledgers import minimal_ledger, split_ledger, transformer_ledger

HOSTILE = {
    "script": "</script><script>alert(1)</script>",
    "image": '</script><img src=x onerror="alert(1)">',
    "attribute": "\" onmouseover=alert(1) x='",
    "comment": "*/ --> <!-- ]]>",
    "template": "{{ 7 * 7 }}{% raw %}${alert(1)}",
    "lines": "a\nb\r\nc\u2028d\u2029e\x85f",
    "controls": "\x00\x07\x1b[31m\x9b",
    "direction": "\u202egpj.exe\u2066\u200f",
    "style": "</style><style>*{display:none}",
    "entity": "&lt;b&gt;&amp;&#60;",
    "escape": "\\u003c/script\\u003e\\",
    "surrogate": "\ud800\udfff",
    "long": "x" * 100_000,
}


def poisoned(text: str) -> Ledger:
    """A ledger with this text in every field that a model or a dump controls."""
    ledger = transformer_ledger(30)
    graph = ledger.before.graph
    value = Value(text, (text, -1), text, "input", text, text)
    nodes = tuple(
        replace(
            node,
            op=text,
            name=f"{text}{number}",
            inputs=(text,),
            attrs=((text, text),),
            sources=(Source(text, 1, text),),
            expand_from=text,
            subgraph=text,
        )
        for number, node in enumerate(graph.nodes)
    )
    poison = Graph(text, nodes, {**graph.values, text: value}, (text,), graph.outputs)
    kernel = replace(
        ledger.kernels[0],
        name=text,
        full_name=text,
        operators=(text, text),
        nodes=(f"{text}0", f"{text}1"),
        body=(text,),
        inputs=(value,),
        outputs=(value,),
        sources=(Source(text, 3, text),),
        bound=text,
        generator=text,
        subgraph=text,
        build=Build((BuildStep(text, (text,)), BuildStep("onednn", (text,))), why=text),
        accuracy=tuple(
            replace(entry, inputs=text, note=text) for entry in ledger.kernels[0].accuracy
        ),
    )
    carried = CarriedKernel(
        text, text, text, (value,), (value,), (Source(text, 4, text),), 1, 1.0, (text, text)
    )
    edge = replace(
        ledger.unfused[0],
        producer=f"{text}0",
        consumer=f"{text}2",
        producer_op=text,
        consumer_op=text,
        value=value,
        reason=text,
        detail=text,
        suggestion=Suggestion(text, text, text),
        producer_source=Source(text, 1, text),
    )
    return replace(
        ledger,
        title=text,
        kernels=(kernel,),
        carried=(carried,),
        unfused=(edge, replace(edge, producer="gone", consumer="")),
        before=replace(ledger.before, graph=poison),
        hot_spots=(HotSpot(text, text, 1.0, 0.5, text, text, Source(text, 1, text)),),
        environment={text: text, "device": text, "nested": {text: (text,)}},
        flags=text,
        preset=text,
        notes=(text,),
    )


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text of each script."""

    def __init__(self, page: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts[-1] += data


def shape(page: str) -> list[str]:
    return [tag for tag, _ in Elements(page).elements]


@cases("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_names_are_data_and_never_markup(text: str) -> None:
    page, harmless = str(poisoned(text).to_html()), str(poisoned("name").to_html())
    found = Elements(page)
    # The same elements in the same order, for any names.
    assert [tag for tag, _ in found.elements] == shape(harmless)
    assert not any(name.startswith("on") for _, attributes in found.elements for name in attributes)
    data, script = found.scripts
    assert json.loads(data)["kernels"]
    assert not set(data) & set("<>&\u2028\u2029")
    assert script == Elements(harmless).scripts[1]
    shown = re.sub(r"\n", "", page)
    assert not any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in shown)
    assert not set(page) & set("\u202e\u2066\u200f")
    assert len(page) < 400_000


@cases("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_names_are_data_in_a_notebook_too(text: str) -> None:
    page, harmless = poisoned(text)._repr_html_(), poisoned("name")._repr_html_()
    assert shape(page) == shape(harmless)
    assert not any(
        name.startswith("on") for _, attributes in Elements(page).elements for name in attributes
    )


@cases("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_names_survive_json_or_are_escaped(text: str) -> None:
    title = Ledger.from_json(poisoned(text).to_json()).title
    assert title == text.encode("utf-8", "backslashreplace").decode("utf-8")


@cases(
    "ledger",
    [transformer_ledger(60), transformer_ledger(60, full=False), minimal_ledger(), split_ledger()],
    ids=["full", "bare", "minimal", "split"],
)
def test_the_page_is_self_contained(ledger: Ledger) -> None:
    page = str(ledger.to_html())
    found = Elements(page)
    for tag, attributes in found.elements:
        assert tag not in {"iframe", "object", "embed", "base", "form"}
        assert "src" not in attributes
        assert "style" not in attributes, "the policy would refuse it"
        if tag == "link":
            assert attributes["href"] == "data:,"
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}


def test_the_policy_allows_this_script_and_nothing_else() -> None:
    page = str(transformer_ledger(30).to_html())
    found = Elements(page)
    (policy,) = (
        attributes["content"]
        for tag, attributes in found.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    digest = b64encode(hashlib.sha256(found.scripts[1].encode()).digest()).decode()
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert "unsafe" not in policy


def test_a_thousand_nodes_stay_under_two_megabytes() -> None:
    ledger = transformer_ledger(1000)
    assert ledger.before.nodes >= 1000
    assert len(str(ledger.to_html()).encode()) < 2_000_000


def test_the_page_is_written_once_and_whole(tmp_path: Path) -> None:
    target = tmp_path / "fusion.html"
    assert transformer_ledger(30).to_html(target) == target
    assert target.read_text("utf-8") == transformer_ledger(30).to_html()
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(InputError, match="mkdir -p"):
        transformer_ledger(30).to_html(tmp_path / "no" / "fusion.html")


def test_a_notebook_gets_no_script() -> None:
    bundle = transformer_ledger(60)._repr_mimebundle_()
    assert bundle["text/plain"] == str(transformer_ledger(60))
    assert not {"script", "link", "iframe", "style"} & set(shape(bundle["text/html"]))
    assert "Add + Sigmoid + Mul" in bundle["text/html"]
    assert "svg" in shape(bundle["text/html"])
    assert minimal_ledger()._repr_html_()


def test_embedded_data_is_json_again() -> None:
    for text in HOSTILE.values():
        if text != HOSTILE["surrogate"]:
            assert json.loads(embed_json({"a": text})) == {"a": text}


def test_the_view_has_every_edge_and_reason() -> None:
    ledger = transformer_ledger(60)
    view = build_view(ledger)
    drawn = sum(
        len(edge["v"])
        for edge in view["edges"]
        if view["nodes"][edge["a"]].get("family") != "input"
    )
    assert drawn == ledger.before.edges
    assert sum(len(edge.get("u", ())) for edge in view["edges"]) == sum(
        1 for edge in ledger.unfused if edge.consumer
    )
    assert [len(kernel["nodes"]) for kernel in view["kernels"]] == [
        len(kernel.nodes) for kernel in ledger.kernels
    ]
    inside = sum(edge.get("in", 0) for edge in view["edges"])
    assert inside == 20


def test_a_ledger_that_does_not_hang_together_is_drawn() -> None:
    ledger = transformer_ledger(30)
    graph = ledger.before.graph
    lost = Graph("lost", graph.nodes, {}, ("x", "nowhere"), ("nothing",))
    kernel = replace(ledger.kernels[0], nodes=("gone", "away"), operators=("Gone",))
    page = replace(
        ledger, before=replace(ledger.before, graph=lost), kernels=(kernel, *ledger.kernels[1:])
    ).to_html()
    assert "Gone" in str(page)


def test_two_edges_between_the_same_nodes_are_two() -> None:
    ledger = transformer_ledger(30)
    graph = ledger.before.graph
    first = graph.nodes[1]
    doubled = replace(first, inputs=(first.inputs[1], first.inputs[1]))
    graph = Graph(
        "two",
        (graph.nodes[0], doubled, *graph.nodes[2:]),
        graph.values,
        graph.inputs,
        graph.outputs,
    )
    view = build_view(replace(ledger, before=replace(ledger.before, graph=graph)))
    (edge,) = (edge for edge in view["edges"] if edge["a"] == 0)
    assert len(edge["v"]) == 2


def test_the_roofline_stands_on_the_model_s_roofs() -> None:
    plot = roofline(transformer_ledger(60))
    assert plot is not None
    assert plot.bandwidth == "20 GB/s"
    assert [(roof.peak, roof.ridge) for roof in plot.roofs] == [("150 GFLOP/s", "7.5 FLOP/B")]
    assert len(plot.dots) == 12
    assert all(
        plot.left <= dot.x <= plot.right and plot.top <= dot.y <= plot.bottom for dot in plot.dots
    )
    assert roofline(transformer_ledger(60, full=False)) is None


@cases("time_us", [float("nan"), float("inf"), 0.0, -1.0, 1e-300, 1e300])
def test_strange_times_do_not_stop_the_report(time_us: float) -> None:
    ledger = transformer_ledger(30)
    kernel = replace(ledger.kernels[0], time_us=time_us, unfused_time_us=time_us)
    ledger = replace(ledger, kernels=(kernel,), after=replace(ledger.after, time_us=time_us))
    assert ledger.to_html()
    assert str(ledger)
    assert ledger._repr_html_()
    assert Ledger.from_json(ledger.to_json())
