"""Checks this machine and environment for obstacles to fusion, and gives remedies.

A check is a function without arguments that returns one `Check`. `CHECKS` lists the checks in
execution order. No check imports a framework in this process. MindSpore may crash, so the checks
run MindSpore in a child process with a time limit.

This module exceeds 500 lines because it is the list of all checks, in the order of the report.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from ms_fusion.mindspore.flags.preset_table import VERSIONS
from ms_fusion.mindspore.known_faults import FAULTS
from ms_fusion.target import INSTALL
from tbe_impl import environment
from tbe_impl.errors import CacheError, InputError, MissingError, pluralize
from tbe_impl.runtime import machine
from tbe_impl.runtime.compiler import find_compiler
from tbe_impl.runtime.process_group import child_environment, child_group
from tbe_impl.runtime.store import Store
from tbe_impl.runtime.store_directory import OWN_DIRECTORY_REMEDY, check_place
from tbe_impl.runtime.store_kinds import KERNELS

EXIT_CODES = {"ok": 0, "hint": 0, "warning": 1, "broken": 2}
PYTHONS = ((3, 10), (3, 12))
TRIAL_TIMEOUT_S = 180.0
COMPILER_TIMEOUT_S = 30.0
ERROR_MAX = 1e-4


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        name: name of the check in the report.
        status: ``ok``, ``hint`` (worth knowing), ``warning`` (fusion may fail or be slower) or
            ``broken`` (fusion will not work).
        what: the finding, as a sentence.
        remedy: the fix for the finding; empty if there is nothing to fix.
    """

    name: str
    status: str
    what: str
    remedy: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """The results of all checks, in the order of execution."""

    checks: tuple[Check, ...]

    @property
    def exit_code(self) -> int:
        """Exit code: 2 if a check is ``broken``, else 1 if a check is ``warning``, else 0."""
        return max((EXIT_CODES[check.status] for check in self.checks), default=0)

    def to_json(self) -> str:
        """Returns the diagnosis as JSON with the keys ``exit_code`` and ``checks``."""
        whole = {"exit_code": self.exit_code, "checks": [asdict(check) for check in self.checks]}
        return json.dumps(whole, indent=2, ensure_ascii=False)


def diagnose(checks: Iterable[Callable[[], Check]] | None = None) -> Diagnosis:
    """Run every check; a check that raises an exception is reported as ``broken``."""
    return Diagnosis(tuple(_run_check(check) for check in (CHECKS if checks is None else checks)))


def _run_check(check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 a failing check must not end the diagnosis
        name = check.__name__.removeprefix("check_").replace("_", " ")
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = f"Free some space in {tempfile.gettempdir()}, or set TMPDIR." if full else ""
        what = f"the check itself failed: {type(error).__name__}: {error}"
        return Check(name, "broken", what, remedy)


def version_of(package: str) -> str | None:
    """Returns the version of an installed distribution, or None if it is not installed.

    The function does not import the distribution.
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def version_key(version: str) -> tuple[int, ...]:
    """Returns the leading integers of a version string.

    >>> version_key("1.26.4rc1")
    (1, 26, 4)
    """
    numbers: list[int] = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers)


def check_python() -> Check:
    found = platform.python_version()
    if PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]:
        return Check("Python", "ok", found)
    return Check("Python", "warning", f"{found} is not tested", "Use Python 3.10, 3.11 or 3.12.")


def can_fuse_here() -> bool:
    """Whether this platform supports MindSpore's fusion."""
    return platform.system() == "Linux" and platform.machine() in ("x86_64", "aarch64")


def check_system() -> Check:
    found = f"{platform.system()} on {platform.machine()}"
    if can_fuse_here():
        return Check("system", "ok", found)
    return Check(
        "system",
        "warning",
        f"{found}: only `ms-fusion read` and the reports work here",
        "Compile on Linux (x86-64 or aarch64), bring the dumps home and read them here.",
    )


def check_processor() -> Check:
    features = machine.cpu_features()
    wide = [name for name in ("avx512f", "avx2", "sve", "asimd") if name in features]
    cores = cores_usable()
    if wide:
        kept = f", no more by {environment.ISA.name}" if machine.is_kept_to_avx2() else ""
        return Check("processor", "ok", f"{pluralize(cores, 'core')}, {', '.join(wide)}{kept}")
    return Check(
        "processor",
        "hint",
        f"{pluralize(cores, 'core')}, no wide vectors found: kernels will be slow",
    )


def cores_usable() -> int:
    """Returns the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads() -> Check:
    text = os.environ.get("OMP_NUM_THREADS", "")
    cores = cores_usable()
    if not text:
        return Check("threads", "ok", f"OMP_NUM_THREADS is not set; {pluralize(cores, 'core')}")
    first = text.split(",")[0].strip()
    if not first.isdecimal() or int(first) == 0:
        return Check(
            "threads",
            "warning",
            f"OMP_NUM_THREADS={text!r} is not a number",
            f"Unset it, or set it to {cores}.",
        )
    if int(first) > cores:
        return Check(
            "threads",
            "warning",
            f"OMP_NUM_THREADS={first}, but only {pluralize(cores, 'core')}: "
            "threads will wait for each other",
            f"Set OMP_NUM_THREADS={cores}.",
        )
    return Check("threads", "ok", f"OMP_NUM_THREADS={first}, {pluralize(cores, 'core')}")


def check_numpy() -> Check:
    found = version_of("numpy")
    if found is None:
        return Check("NumPy", "broken", "not installed", "Run: pip install 'numpy>=1.26.4,<2'")
    if version_key(found) >= (2,):
        return Check(
            "NumPy",
            "broken",
            f"{found}: NumPy 2 breaks bfloat16 and scalar operations in MindSpore",
            "Run: pip install 'numpy>=1.26.4,<2'",
        )
    if version_key(found) < (1, 26, 4):
        return Check("NumPy", "warning", f"{found} is old", "Run: pip install 'numpy>=1.26.4,<2'")
    return Check("NumPy", "ok", found)


def check_ml_dtypes() -> Check:
    found = version_of("ml_dtypes")
    if found is None:
        return Check("ml_dtypes", "broken", "not installed", "Run: pip install ml_dtypes==0.5.4")
    if version_key(found) >= (0, 6):
        return Check(
            "ml_dtypes", "warning", f"{found} wants NumPy 2", "Run: pip install ml_dtypes==0.5.4"
        )
    return Check("ml_dtypes", "ok", found)


def check_decorator() -> Check:
    found = version_of("decorator")
    if found is None:
        return Check(
            "decorator",
            "broken",
            'not installed: MindSpore\'s fusion dies without it ("Response is empty.")',
            "Run: pip install decorator",
        )
    return Check("decorator", "ok", found)


def check_mindspore() -> Check:
    found = version_of("mindspore")
    if found is None:
        if not can_fuse_here():
            return Check("MindSpore", "hint", "not installed; reading dumps and reports need none")
        return Check("MindSpore", "broken", "not installed", f"Run: {INSTALL}")
    if not any(version_key(found)[:2] == version_key(known) for known in VERSIONS):
        return Check(
            "MindSpore",
            "warning",
            f"{found} is not in the table of presets ({', '.join(VERSIONS)})",
            f"Run: {INSTALL}",
        )
    return Check("MindSpore", "ok", found)


def check_onnx() -> Check:
    onnx, mindspore = version_of("onnx"), version_of("mindspore")
    protobuf = version_of("protobuf")
    told = f"onnx {onnx or 'not installed'}, protobuf {protobuf or 'not installed'}"
    if onnx is not None and version_key(onnx) < (1, 21):
        return Check("ONNX", "warning", f"{told}: too old", "Run: pip install 'onnx>=1.21'")
    if mindspore is not None and version_key(mindspore) < (2, 10):
        if onnx is not None:
            return Check(
                "ONNX",
                "warning",
                f"{told}: MindSpore {mindspore} needs protobuf 3.20, with which onnx does not work",
                f"Run: {INSTALL} (MindSpore 2.10), or keep two environments.",
            )
        if protobuf is not None and version_key(protobuf) >= (4,):
            return Check(
                "ONNX",
                "warning",
                f"{told}: MindSpore {mindspore} needs protobuf 3.20",
                "Run: pip install 'protobuf<3.21'",
            )
    return Check("ONNX", "ok", told)


def check_compiler() -> Check:
    remedy = "Install one (apt-get install gcc), or run: pip install 'ms_fusion[compiler]'"
    try:
        compiler = find_compiler()
    except MissingError as error:
        return Check(
            "C compiler",
            "warning",
            f"{error.sentence.rstrip('.')}: only MindSpore's own kernels can be built",
            f"{error.remedy}." if error.place else remedy,
        )
    with tempfile.TemporaryDirectory(prefix="ms_fusion-") as directory:
        source = Path(directory) / "probe.c"
        source.write_text("int probe(void) { return 42; }\n", "utf-8")
        library = Path(directory) / "probe.so"
        command = [
            *compiler.command,
            "-O2",
            "-shared",
            "-fPIC",
            "-o",
            str(library),
            str(source),
        ]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=COMPILER_TIMEOUT_S,
            )
            problem = last_line(done.stderr) if done.returncode or not library.exists() else ""
        except (OSError, subprocess.TimeoutExpired) as error:
            problem = str(error)
    name = " ".join(compiler.command)
    if problem:
        return Check("C compiler", "warning", f"{name} does not work: {problem}", remedy)
    return Check("C compiler", "ok", name)


def last_line(text: str) -> str:
    """Returns the last non-empty line of `text`, shortened to 300 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no message"


def check_cache() -> Check:
    cache = Store()
    if cache.root.is_symlink():
        return Check(
            "kernel cache", "warning", f"{cache.root} is a link", f"{OWN_DIRECTORY_REMEDY}."
        )
    try:
        check_place(cache.root)
    except CacheError as error:
        remedy = f"{(error.remedy or OWN_DIRECTORY_REMEDY).rstrip('.')}."
        return Check("kernel cache", "warning", f"kernels are not kept: {error.sentence}", remedy)
    wrong = cache.verify()
    if wrong:
        count = pluralize(len(wrong), "entry", "entries")
        what = f"{count} damaged or foreign (never used): {wrong[0][1]}"
        return Check("kernel cache", "warning", what, "Run: ms-fusion cache clear")
    info = cache.info()
    return Check(
        "kernel cache",
        "ok",
        f"{cache.root}: {pluralize(info.entries[KERNELS.name], 'kernel')}, "
        f"{info.free_bytes / 2**30:.0f} GiB free",
    )


def check_working_directory() -> Check:
    planted = Path.cwd() / "akg_kernel_meta"
    if not os.path.lexists(planted):
        return Check("working directory", "ok", "holds no kernels that MindSpore would load")
    return Check(
        "working directory",
        "warning",
        f"{planted} exists: without ms_fusion, MindSpore loads and runs kernels from it",
        "Delete it unless you know who wrote it; ms_fusion never uses it.",
    )


def check_switches() -> Check:
    name = environment.FUSION.name
    try:
        off = environment.is_off()
    except InputError as error:
        return Check("switches", "broken", str(error), f"Unset {name}.")
    if off:
        what = f"{name}=off: enable() and every patch do nothing"
        return Check("switches", "warning", what, f"Unset {name}.")
    return Check("switches", "ok", f"{name} is not off")


def check_flags() -> Check:
    from ms_fusion.mindspore.flags.lint import lint

    name = "MS_DEV_GRAPH_KERNEL_FLAGS"
    text = os.environ.get(name)
    if text is None:
        return Check("flags", "ok", f"{name} is not set")
    found = [item for item in lint(text) if item.severity != "note"]
    if found:
        what = f"{name}: {found[0].message}"
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        remedy = found[0].remedy or f'Run: ms-fusion lint-flags "${name}"'
        return Check("flags", "warning", what + more, remedy)
    return Check(
        "flags",
        "hint",
        f"{name}={text!r} wins over MindSpore's context and JitConfig wherever ms_fusion is "
        "not used",
    )


def check_kernel_directory() -> Check:
    name = "MS_COMPILER_CACHE_PATH"
    text = os.environ.get(name, "")
    if not text:
        return Check("kernel directory", "ok", f"{name} is not set; ms_fusion sets a private one")
    path = Path(text)
    try:
        if not path.is_dir():
            raise CacheError("is not a directory that exists; MindSpore ignores it")
        check_place(path)
    except CacheError as error:
        return Check(
            "kernel directory", "warning", f"{name}={text}: {error.sentence}", f"Unset {name}."
        )
    return Check("kernel directory", "ok", f"{name}={text}")


def check_mindspore_faults() -> Check:
    found = version_of("mindspore")
    if found is None:
        return Check("known faults", "ok", "MindSpore is not installed")
    calls = "; ".join(fault.call for fault in FAULTS)
    what = f"{len(FAULTS)} calls that MindSpore computes wrongly on CPU, fused or not: {calls}"
    return Check("known faults", "ok", what, "docs/presets.md says what to write instead.")


def check_convolution() -> Check:
    name = "ONEDNN_MAX_CPU_ISA"
    text = os.environ.get(name)
    if text:
        return Check(
            "convolution",
            "hint",
            f"{name}={text}: matrix products may be slower for it",
            f"Unset {name}: after `mf.enable()` convolutions are quick without it.",
        )
    if "avx512f" not in machine.cpu_features():
        return Check("convolution", "ok", "nothing known against it on this processor")
    return Check(
        "convolution",
        "hint",
        "MindSpore's own Conv2D may run oneDNN's reference kernel (about 1 GFLOP/s)",
        "Call `mf.enable()`, which replaces it; where MindSpore's own has to stay, "
        f"{name}=AVX2 mends it and may halve the "
        "speed of matrix products.",
    )


def check_generator() -> Check:
    """Check whether ms_fusion's generator can build the kernels.

    The check uses the recorded result of the generator's self-test on this machine. If there is no
    record, the self-test runs now, in a child process.
    """
    from ms_fusion.mindspore.presets import generator_proof

    name, version = "generator", version_of("mindspore")
    if version is None or not can_fuse_here():
        return Check(
            name, "hint", "not tried: kernels are built on Linux, with MindSpore installed"
        )
    before = generator_proof.known_reason(version)
    why = generator_proof.why_unusable(version)
    if why:
        what = f"MindSpore's own builds the kernels, since ours cannot be used: {why}"
        return Check(
            name,
            "warning",
            what,
            'See the other checks; `generator="mindspore"` asks for it without a warning.',
        )
    when = "now" if before is None else "before"
    return Check(name, "ok", f"ours, proved {when} on this machine with MindSpore {version}")


def check_fusion() -> Check:
    """Compile and fuse a small net in a child process."""
    name = "fusion"
    if importlib.util.find_spec("mindspore") is None:
        status = "broken" if can_fuse_here() else "hint"
        return Check(name, status, "not tried: MindSpore is not installed")
    with tempfile.TemporaryDirectory(
        prefix="ms_fusion-", dir=environment.temporary_directory(), ignore_cleanup_errors=True
    ) as text:
        directory = Path(text)
        problem = run_trial(directory, TRIAL_TIMEOUT_S)
        if problem:
            remedy = "See the other checks; a fresh environment (`make env`) is known to work."
            return Check(name, "broken", f"a small net cannot be fused: {problem}", remedy)
        seen = json.loads((directory / "result.json").read_text("utf-8"))
    return judge_trial(seen)


def judge_trial(seen: dict[str, object]) -> Check:
    """Returns the `Check` for the result of `run_trial`.

    The check passes if MindSpore fused operators of the small net and the net's result is correct.
    """
    bodies, error = seen["bodies"], seen["max_abs_error"]
    assert isinstance(bodies, list) and isinstance(error, float)
    fused = [body for body in bodies if len(body) > 1]
    if not fused:
        what = "MindSpore compiled a small net but fused nothing in it"
        return Check("fusion", "broken", what, "Check MindSpore's version and device.")
    if not error <= ERROR_MAX:
        what = (
            f"a small fused net is {error:.3g} away from float64 (at most {ERROR_MAX:g} is right)"
        )
        return Check("fusion", "broken", what, "Do not use fusion on this machine; report it.")
    told = f"{' + '.join(fused[0])} in one kernel on {seen['device']}, {error:.1e} from float64"
    return Check("fusion", "ok", told)


def run_trial(directory: Path, timeout_s: float) -> str:
    """Runs `ms_fusion.cli.doctor_net` in a child process; returns an error message, or ""."""
    command = [sys.executable, "-m", "ms_fusion.cli.doctor_net", str(directory)]
    log = directory / "log"
    options = {"cwd": directory, "env": child_environment(), "stdin": subprocess.DEVNULL}
    try:
        # The compile server is a grandchild process; `child_group` ends it too.
        with (
            log.open("wb") as out,
            child_group(command, stdout=out, stderr=out, **options) as child,
        ):
            code = child.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return f"not done within {timeout_s:g} s"
    if code:
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"{last_line(log.read_text('utf-8', errors='replace'))} ({ended})"
    return "" if (directory / "result.json").exists() else "no result was written"


CHECKS: tuple[Callable[[], Check], ...] = (
    check_python,
    check_system,
    check_processor,
    check_threads,
    check_numpy,
    check_ml_dtypes,
    check_decorator,
    check_mindspore,
    check_onnx,
    check_compiler,
    check_cache,
    check_working_directory,
    check_switches,
    check_flags,
    check_kernel_directory,
    check_convolution,
    check_mindspore_faults,
    check_generator,
    check_fusion,
)
