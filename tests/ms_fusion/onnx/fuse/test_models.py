"""The corpus: each model fuses, keeps its results, and does not fuse again.

This test runs a part; ``python -m tests.ms_fusion.onnx.fuse.test_models [FAMILY …]`` runs all, or
these families.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import onnx
import pytest

from ms_fusion.ledger import Ledger
from ms_fusion.onnx.fuse import auto_fuse as module
from ms_fusion.onnx.fuse.auto_fuse import AlreadyFusedError, auto_fuse
from ms_fusion.onnx.native.child import NativeWorkers
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.fuse.corpus import MODELS
from tests.ms_fusion.onnx.fuse.test_corpus import Shared

TRIED = (
    "bert_spelled",
    "gpt_half",
    "llama_small",
    "t5_known",
    "vit_one_head",
    "resnet_known",
    "mobilenet_hard",
    "yolo_small",
    "unet_biased",
    "lstm_steps",
    "gru_one",
    "random_7",
    "random_16",
    "torch_layer",
)


def fused(name: str, place: Path) -> Ledger:
    """Fuses a model of the corpus, and tries to fuse the result again."""
    source = MODELS[name](place / "model.onnx")
    output, again = place / "fused.onnx", place / "again.onnx"
    ledger = auto_fuse(source, output, verify=True)
    assert ledger.output_max_abs is not None
    assert not [note for note in ledger.notes if "WRONG" in note]
    onnx.checker.check_model(onnx.load(output))
    with pytest.raises(AlreadyFusedError):
        auto_fuse(output, again)
    assert not again.exists()
    return ledger


IN_QUICK = {"gru_one", "random_16"}
"""Other tests cover transformers and convolutional nets."""


@cases(
    "name",
    [pytest.param(name, marks=() if name in IN_QUICK else FULL) for name in TRIED],
    per_item=5,
)
def test_a_model_is_fused_and_stays_what_it_is(name: str, tmp_path: Path) -> None:
    assert fused(name, tmp_path).kernels


def test_the_corpus_is_large_and_the_sample_has_every_family() -> None:
    assert len(MODELS) >= 100
    assert {name.partition("_")[0] for name in TRIED} == {name.partition("_")[0] for name in MODELS}


def main(families: list[str]) -> int:
    """A line for each model; returns 1 when one differs."""
    wrong = 0
    with NativeWorkers() as native:
        module.NativeWorkers = Shared(native)  # type: ignore[assignment, misc]
        for name in MODELS:
            if families and name.partition("_")[0] not in families:
                continue
            with tempfile.TemporaryDirectory() as directory:
                try:
                    ledger = fused(name, Path(directory))
                    said = (
                        f"{ledger.environment['operators']:5} operators {len(ledger.kernels):3} "
                        f"kernels, differs by {ledger.output_max_abs:.1e}"
                    )
                except Exception as error:  # noqa: BLE001 - the others are still to be tried
                    wrong += 1
                    said = f"WRONG: {type(error).__name__}: {error}"
            sys.stdout.write(f"{name:24s} {said}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{wrong} wrong\n")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
