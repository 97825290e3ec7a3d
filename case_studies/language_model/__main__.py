"""``python -m case_studies.language_model``: trains in four stages and prints the comparison.

Losses, curves and ledgers go to ``build/case_studies/language_model``. ``QUICK=1`` trains a smaller
network for fewer steps, inspects two ledgers without timing their kernels, and skips the two
workers and the layer.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from case_studies.language_model import curves, story, two_workers
from case_studies.language_model.sizes import SIZES
from case_studies.language_model.stages import (
    CUSTOM,
    LAYER,
    MODEL,
    PRESETS,
    SERVER,
    STAGES,
    UNFUSED,
)
from case_studies.language_model.training import Trained, in_turns

PLACE = Path("build/case_studies/language_model")
SETTLED = 60
"""Steps after which MindSpore has tuned the thread counts of its kernels."""
LAYER_STEPS, WORKER_STEPS, AT_ONCE = 120, 40, 10


def main(place: Path, *, quick: bool) -> None:
    """The complete case study."""
    place.mkdir(parents=True, exist_ok=True)
    size_name = "quick" if quick else "full"
    size = SIZES[size_name]
    print(
        f"{size.layers} layers of {size.d_model}, {size.heads} heads, {size.tokens:,} characters "
        f"a step, {size.steps} steps",
        flush=True,
    )
    trained = in_turns(list(STAGES), MODEL, size_name, steps=size.steps, at_once=AT_ONCE)
    looked_at = (SERVER, CUSTOM) if quick else (PRESETS, SERVER, CUSTOM)
    ledgers = {name: story.ledger_of(name, MODEL, size, measure=not quick) for name in looked_at}
    settled = min(SETTLED, size.steps // 2)
    found = story.rows(trained, ledgers, size, settled=settled)
    print(f"\n{story.table(found)}\n\n{story.describe_kernels(ledgers)}")
    record = story.record(size_name, found, trained)
    if not quick:
        record["layer"] = _layer()
        record["two_workers"] = _two_workers(trained)
    (place / "record.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    losses = {name: one.losses for name, one in trained.items()}
    (place / "losses.svg").write_text(curves.picture(losses), "utf-8")
    for name, ledger in ledgers.items():
        ledger.to_html(place / f"{name.replace(' ', '_')}.html")
    print(f"\nwritten: {place}")


def _layer() -> dict[str, dict[str, float]]:
    """A training step of one layer in each stage."""
    size = SIZES["layer"]
    print(
        f"\none layer of {size.d_model}, {size.heads} heads, {size.rows} × {size.context} rows, "
        f"training step"
    )
    trained = in_turns(list(STAGES), LAYER, "layer", steps=LAYER_STEPS, at_once=AT_ONCE)
    unfused, found = trained[UNFUSED].step_s(first=SETTLED), {}
    for name, one in trained.items():
        step_s = one.step_s(first=SETTLED)
        found[name] = {"step_s": step_s, "times": unfused / step_s, "last_loss": one.losses[-1]}
        print(f"{name:<14} {step_s * 1e3:8.1f} ms {unfused / step_s:6.2f} ×")
    return found


def _two_workers(alone: dict[str, Trained]) -> dict[str, dict[str, float]]:
    """The same training by two workers, beside one process."""
    print(f"\n{two_workers.WORKERS} workers, each on its half of every batch")
    together, found = two_workers.train([UNFUSED, SERVER, CUSTOM], "full", steps=WORKER_STEPS), {}
    for name, one in together.items():
        apart = max(
            abs(a - b) / abs(b) for a, b in zip(one.losses, alone[UNFUSED].losses, strict=False)
        )
        found[name] = {"step_s": one.step_s, "differs": apart, "last_loss": one.losses[-1]}
        print(
            f"{name:<14} {one.step_s * 1e3:8.1f} ms a step, losses differ from one unfused process "
            f"by {apart:.0e}"
        )
    return found


if __name__ == "__main__":
    main(PLACE, quick=os.environ.get("QUICK", "") not in ("", "0"))
