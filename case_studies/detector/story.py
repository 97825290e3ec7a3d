"""The detector case study: training, pictures and timings."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from case_studies.detector.bounds import measure_bounds
from case_studies.detector.contestant import AS_IT_COMES, OURS, REPAIRED, Contestant, Task
from case_studies.detector.design import SMALL, YOLO_V3, Design
from case_studies.detector.matching import Found, count_matches

PLACE = Path("build/case_studies/detector")
NEW_IMAGES = 1_000_000
"""A seed far from those of the training."""
SAME = {"overlap": 0.98, "score": 0.002}
"""Limits for equal detections: sigmoids and exponentials in float16 are accurate to 2^-11."""
SLOW_S = 20.0
"""A contestant with a slower first call is not called again."""


@dataclass(frozen=True)
class Scale:
    """Extent of the case study.

    Attributes:
        learner: design of the trained detector.
        steps: training steps.
        timed: design of the timed detector, with weights from a seed.
        score_threshold: threshold of the timed detector.
        batch: images per call of the throughput measurement; 0 for none.
        rounds: interleaved rounds.
    """

    learner: Design
    steps: int
    timed: Design
    score_threshold: float
    batch: int
    rounds: int


WHOLE = Scale(SMALL, 400, YOLO_V3, 0.035, 4, 9)
TINY = Design(size=64, width=4, blocks=(1, 1, 1, 1, 1), classes=3)
QUICK = Scale(TINY, 20, TINY, 0.0095, 0, 3)


def tell(scale: Scale) -> dict[str, Any]:
    """Prints the report; writes a picture and the figures to `PLACE`, and returns the figures."""
    PLACE.mkdir(parents=True, exist_ok=True)
    record: dict[str, Any] = {"trained": _training(scale)}
    record["hot_spots"] = _hot_spots(scale)
    task = Task(scale.timed, score_threshold=scale.score_threshold)
    record["one_image"] = _compare_contestants(
        f"{_design_name(scale.timed)}, one image", task, scale
    )
    if scale.batch:
        weights = str((PLACE / "weights.ckpt").resolve())
        learnt = Task(scale.learner, batch=8, weights=weights, seed=NEW_IMAGES)
        record["learner"] = _compare_contestants("The trained one, 8 images", learnt, scale)
        many = replace(task, batch=scale.batch)
        record["many"] = _compare_contestants(
            f"{_design_name(scale.timed)}, {scale.batch} images", many, scale, slowest=False
        )
    record["bounds"] = _bounds(task)
    path = PLACE / "story.json"
    path.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    _say(f"\nwritten: {path}, {PLACE / 'detections.png'}")
    return record


def _design_name(design: Design) -> str:
    name = "Darknet-53 with three heads" if design.blocks == YOLO_V3.blocks else "a small Darknet"
    return f"{name}, {design.width} channels, {design.size}×{design.size}"


def _training(scale: Scale) -> dict[str, Any]:
    """Trains with fusion, and detects and draws shapes in new images."""
    import mindspore as ms

    import ms_fusion as mf
    from case_studies.detector.data import draw_images
    from case_studies.detector.detection import Detection, collect_detections
    from case_studies.detector.picture import draw
    from case_studies.detector.training import train_detector

    ms.set_context(mode=ms.GRAPH_MODE)
    with mf.fusion(generator="ms_fusion"):
        net, losses = train_detector(scale.learner, steps=scale.steps)
        images = draw_images(32, scale.learner.size, seed=NEW_IMAGES)
        seen = collect_detections(
            Detection(net, scale.learner, fused=True)(ms.Tensor(images.pixels))
        )
    ms.save_checkpoint(net, str(PLACE / "weights.ckpt"))
    draw(images.pixels[:8], seen[:8], PLACE / "detections.png")
    real = [
        Found(box, box[:, 0] * 0 + 1, kind)
        for box, kind in zip(images.boxes, images.kinds, strict=True)
    ]
    right = sum(
        count_matches(one, other, overlap=0.5) for one, other in zip(real, seen, strict=True)
    )
    shapes, said = sum(len(one.scores) for one in real), sum(len(one.scores) for one in seen)
    _say(
        f"{_design_name(scale.learner)}: trained for {scale.steps} steps of 16 images, loss "
        f"{losses[0]:.1f} → {losses[-1]:.1f}"
    )
    _say(
        f"  32 new images: {right} of {shapes} shapes are found (overlap of at least 0.5), "
        f"{said - right} detections are none"
    )
    return {
        "steps": scale.steps,
        "losses": losses,
        "right": right,
        "shapes": shapes,
        "detections": said,
    }


def _hot_spots(scale: Scale) -> dict[str, Any]:
    """Profile of default MindSpore, and the groups of many operators."""
    import mindspore as ms

    import ms_fusion as mf
    from case_studies.detector.darknet import detector
    from case_studies.detector.data import draw_images
    from case_studies.detector.detection import Detection

    design = scale.learner
    net, x = (
        Detection(detector(design), design, fused=False),
        ms.Tensor(draw_images(1, design.size, seed=0).pixels),
    )
    apart = mf.explain(net, x, preset="off", accuracy=False)
    ledger = mf.explain(net, x, generator="ms_fusion", measure=False, accuracy=False)
    shares: dict[str, float] = {}
    for spot in apart.hot_spots:
        shares[spot.op] = shares.get(spot.op, 0.0) + spot.share
    before, after = ledger.before, ledger.after
    _say("\nHot spots of MindSpore as it comes, by its profiler:")
    for op, share in sorted(shares.items(), key=lambda item: -item[1])[:4]:
        spot = next(spot for spot in apart.hot_spots if spot.op == op)
        _say(f"  {op:<12} {share:6.1%} in its slowest places alone; {spot.detail}")
    _say(
        f"  {before.nodes} operators become {after.nodes}, {before.launches} launches "
        f"{after.launches}, {before.bytes_moved / 2**20:.1f} MiB moved "
        f"{after.bytes_moved / 2**20:.1f} MiB"
    )
    numbers = {
        "nodes": (before.nodes, after.nodes),
        "launches": (before.launches, after.launches),
        "bytes_moved": (before.bytes_moved, after.bytes_moved),
    }
    return {"shares": shares, **numbers}


def _compare_contestants(
    title: str, task: Task, scale: Scale, *, slowest: bool = True
) -> dict[str, Any]:
    """Interleaves all contestants on one task; calls that take minutes are made once."""
    rivals = (OURS, REPAIRED, AS_IT_COMES) if slowest else (OURS, REPAIRED)
    with ExitStack() as running:
        all_of_them = {who: running.enter_context(Contestant(who, task)) for who in rivals}
        times: dict[str, list[float]] = {who: [] for who in rivals}
        for _ in range(scale.rounds):
            for who, one in all_of_them.items():
                if one.beginning.first_s < SLOW_S:
                    one.seconds()  # the threads wake up
                    times[who].append(one.seconds())
    _say(f"\n{title}")
    record = {who: _line(one, times[who], task.batch) for who, one in all_of_them.items()}
    ours = record[OURS]
    for who, line in record.items():
        if who != OURS:
            line["times"] = line["median_s"] / ours["median_s"]
            line["memory_share"] = (
                ours["peak_bytes"] / line["peak_bytes"] if line["peak_bytes"] else None
            )
            line["call_memory_share"] = (
                ours["call_bytes"] / line["call_bytes"] if line["call_bytes"] else None
            )
            line["same"], line["detections"] = _agreement(
                all_of_them[who].beginning.found, all_of_them[OURS].beginning.found
            )
        _say(_text_of(who, line))
    return record


def _bounds(task: Task) -> dict[str, float]:
    """Profile of ours."""
    found = measure_bounds(task)
    whole = found.convolutions_s + found.layouts_s + found.rest_s
    _say(
        f"\nWhat bounds ours, one image: {found.convolutions_s / whole:.0%} of the time are "
        f"convolutions ({found.flops / 1e9:.1f} GFLOP at {found.gflop_per_s:.0f} GFLOP/s), "
        f"{found.layouts_s / whole:.0%} changes of layout, most of weights, "
        f"{found.rest_s / whole:.0%} all else"
    )
    return {**asdict(found), "gflop_per_s": found.gflop_per_s}


def _line(one: Contestant, times: Sequence[float], batch: int) -> dict[str, Any]:
    begun = one.beginning
    known = times or [begun.first_s]
    return {
        "median_s": statistics.median(known),
        "least_s": min(known),
        "images_per_s": batch / statistics.median(known),
        "compile_s": begun.compile_s,
        "peak_bytes": begun.peak_bytes,
        "call_bytes": begun.call_bytes,
        "rounds": len(times),
    }


def _agreement(before: Sequence[Found], after: Sequence[Found]) -> tuple[int, int]:
    """Number of common detections, and the larger number of detections."""
    same = sum(count_matches(one, other, **SAME) for one, other in zip(before, after, strict=True))
    return same, max(sum(len(one.scores) for one in found) for found in (before, after))


def _text_of(who: str, line: Mapping[str, Any]) -> str:
    text = (
        f"  {who:<12} {line['median_s'] * 1e3:9.1f} ms {line['images_per_s']:8.2f} images/s, peak "
        f"{line['peak_bytes'] / 2**20:6.0f} MiB, of them in the call "
        f"{line['call_bytes'] / 2**20:6.0f}"
    )
    if "times" in line:
        text += f"; ours is {line['times']:.2f} × as fast"
        if line["memory_share"] is not None:
            text += f", takes {line['memory_share']:.0%} ({line['call_memory_share']:.0%})"
        text += f"; {line['same']} of {line['detections']} detections are the same"
    return text


def _say(text: str) -> None:
    print(text, flush=True)
