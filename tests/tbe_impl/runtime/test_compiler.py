"""The C compiler missing, failing, hanging, verbose, killed; safe identifiers in C."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.cpu import prepared_kernel
from tbe_impl.errors import CompileError, CompileTimeoutError, MissingError
from tbe_impl.runtime import compiler, compiler_process
from tbe_impl.runtime.store import Store
from tbe_impl.runtime.store_kinds import KERNELS
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.graphs import prepare

X = np.arange(8, dtype=np.float32)


def _children() -> set[int]:
    """Child processes of this one that the system still lists."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid():
                found.add(int(entry.name))
    return found


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """``use(text)``: the compiler is a shell script with this text, and the cache is empty; both
    are in `folder`.
    """

    def script(text: str, folder: str = "here") -> Store:
        place = tmp_path / folder
        place.mkdir()
        path = place / "cc"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        monkeypatch.setenv("MS_FUSION_CC", str(path))
        return Store(place / "kernels")

    return script


def _compiled(cache: Store) -> np.ndarray:
    kernel, _, _ = prepare(lambda x: dsl.vadds(x, 1), X, cache=cache)
    return kernel.run([X], {}, 1)[0]


def test_a_compiler_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, cache: Store
) -> None:
    monkeypatch.setenv("MS_FUSION_CC", "/nowhere/cc")
    with pytest.raises(MissingError, match=r"/nowhere/cc is not there.*Install gcc or clang"):
        _compiled(cache)


def test_whatever_a_library_depends_on_is_part_of_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def key(digest: str = "a" * 64, **more: tuple[str, ...]) -> str:
        return compiler.recipe(digest, **more).key

    first = key()
    assert key() == first
    found = [
        key("b" * 64),
        key(options=("-ffp-contract=fast",)),
        key(options=("-march=x86-64-v3",)),
    ]
    with monkeypatch.context() as patch:
        patch.setattr(compiler, "FLAGS", (*compiler.FLAGS, "-DMORE"))
        found.append(key())
    with monkeypatch.context() as patch:
        patch.setattr(compiler, "_headers", lambda: "other headers")
        found.append(key())
    known = compiler.find_compiler()
    newer = compiler_process.Compiler(known.command, f"{known.identity} newer")
    monkeypatch.setattr(compiler, "find_compiler", lambda: newer)
    assert len({first, *found, key()}) == len(found) + 2


def test_the_path_of_now_is_searched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MS_FUSION_CC", raising=False)
    assert compiler.find_compiler().command == (REAL,)
    own = tmp_path / "cc"
    own.write_text(f'#!/bin/sh\nexec {REAL} "$@"\n')
    own.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compiler.find_compiler().command == (str(own),)


def test_without_a_compiler_numpy_runs_with_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    import tbe_impl

    monkeypatch.setenv("MS_FUSION_CC", str(tmp_path / "absent"))

    def add_one(x: dict, y: dict, kernel_name: str = "add_one") -> None:
        from tbe import dsl as language  # type: ignore[import-not-found]
        from te import tvm  # type: ignore[import-not-found]

        data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
        result = language.vadds(data, 1)
        schedule = language.auto_schedule(result)
        language.build(schedule, {"name": kernel_name, "tensor_list": [data, result]})

    operator = tbe_impl.load_operator(add_one)
    given = {"shape": (8,), "dtype": "float32"}
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            kernel = operator.build(given, given, soc="cpu")
            np.testing.assert_array_equal(kernel(X), X + 1)
            np.testing.assert_array_equal(kernel(X), X + 1)
    said = [item for item in caplog.records if "NumPy back end" in item.getMessage()]
    assert len(said) == 1
    assert "is not there" in said[0].getMessage()


def test_what_a_failing_compiler_says_is_passed_on(use) -> None:
    cache = use("echo 'kernel.c:1: error: the moon is full' >&2; exit 1")
    with pytest.raises(CompileError, match="the moon is full"):
        _compiled(cache)


@cases(
    "text, error",
    [
        ("sleep 600", r"longer than 0\.4 s\. The machine is overloaded"),
        ("while :; do :; done", r"longer than 1 s of processor time\. Divide the operator"),
        ("sh -c 'while :; do :; done' || exit 1", "longer than 1 s of processor time"),
    ],
    ids=["waits", "computes", "has a child that computes"],
)
def test_a_compiler_that_hangs_is_ended_with_its_children(
    text: str, error: str, use, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = _children()
    cache = use(f"sleep 600 & echo $! > {tmp_path}/pid; {text}", folder=text[:5])
    monkeypatch.setattr(compiler_process, "TIME_LIMIT_S", 1)
    factor = 0.4 if text == "sleep 600" else 100.0
    monkeypatch.setattr(compiler_process, "WALL_LIMIT_FACTOR", factor)
    for _ in range(2):  # the second time, the compiler is not started
        with pytest.raises(CompileTimeoutError, match=error):
            _compiled(cache)
    child = Path("/proc") / (tmp_path / "pid").read_text().strip()
    deadline = time.monotonic() + 10
    while (
        child.exists() and " Z " not in (child / "stat").read_text() and time.monotonic() < deadline
    ):
        time.sleep(0.02)
    assert not child.exists() or " Z " in (child / "stat").read_text()
    assert _children() <= before


def test_a_compiler_that_wants_all_the_memory_is_refused_it(
    use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_process, "MEMORY_LIMIT_BYTES", 100 << 20)
    # `tail` holds text without a line break until its end
    cache = use("head -c 200000000 /dev/zero | tail > /dev/null; exit 1")
    with pytest.raises(
        CompileError, match=r"more memory than it may have.*0\.097\d* GiB.*exhausted"
    ):
        _compiled(cache)


def test_a_compiler_that_is_killed_is_an_error(use) -> None:
    before = _children()
    with pytest.raises(CompileError, match="exit code -9"):
        _compiled(use("kill -9 $$"))
    assert _children() <= before


REAL = compiler.find_compiler().command[0]
LAST = 'while [ "$1" != -o ]; do shift; done; out=$2'
LIES = {
    "nothing": "exit 0",
    "rubbish": f'{LAST}; echo rubbish > "$out"',
    "empty": f'{LAST}; : > "$out"',
    "a program of a shell": f"{LAST}; printf '#!/bin/sh\\n' > \"$out\"",
    "the beginning of a library": f'{REAL} "$@"; {LAST}; '
    'head -c 9000 "$out" > "$out.part"; mv "$out.part" "$out"',
    "a header alone": f'{REAL} "$@"; {LAST}; '
    'head -c 40 "$out" > "$out.part"; mv "$out.part" "$out"',
    "an object file": 'for a in "$@"; do [ "$a" = -shared ] && a=-c; set -- "$@" "$a"; shift; '
    f'done; {REAL} "$@"',
    "another function": f'{LAST}; echo "int other(void) {{ return 0; }}" | '
    f'{REAL} -shared -fPIC -x c -o "$out" -',
    "a function that is nowhere": f"{LAST}; "
    f'echo "int f(void); int k_kernel(void) {{ return f(); }}" | '
    f'{REAL} -shared -fPIC -x c -o "$out" -',
    "another machine's": f'{REAL} "$@"; {LAST}; '
    "printf '\\377\\377' | dd of=\"$out\" bs=1 seek=18 conv=notrunc 2> /dev/null",
}
"""Output files → a compiler that exits with 0."""


QUICK_LIES = ("rubbish", "the beginning of a library", "another function")
"""One non-library, one truncated library, one without the function."""


@cases("name", [pytest.param(name, marks=() if name in QUICK_LIES else FULL) for name in LIES])
def test_a_compiler_that_lies_is_an_error_and_nothing_is_kept(use, name: str) -> None:
    cache = use(LIES[name], name)
    with pytest.raises(CompileError, match="the C compiler produced no library") as raised:
        _compiled(cache)
    assert str(cache.root.parent) in str(raised.value)
    assert cache.entries() == ()
    # a working compiler at the same path is used, and its library cached
    path = Path(os.environ["MS_FUSION_CC"])
    path.write_text(f'#!/bin/sh\nexec {REAL} "$@"\n')
    os.utime(path, (1, 1))
    compiler._find.cache_clear()
    np.testing.assert_array_equal(_compiled(cache), X + 1)
    assert len(cache.entries(KERNELS)) == 1


def test_a_noisy_compiler_is_listened_to(use) -> None:
    cache = use(f'head -c 4000000 /dev/zero; head -c 300000 /dev/urandom >&2; exec {REAL} "$@"')
    np.testing.assert_array_equal(_compiled(cache), X + 1)


def test_an_unknown_word_of_the_runtime_is_found_when_compiling(cache: Store) -> None:
    with pytest.raises(CompileError, match="implicit"):
        compiler.build("int k_x(void) { return no_such_function(1); }", cache=cache)


EVIL = 'a"; system("touch /tmp/x"); /* */ \n#error out\n*/ \\ \x1b[31m é 中 ' + "z" * 200


def test_names_of_users_stay_outside_the_c(cache: Store) -> None:
    x = dsl.placeholder((8,), "float32", EVIL)
    y = dsl.compute((8,), lambda i: x(i) * 2, EVIL, tag=EVIL)
    kernel = prepared_kernel.prepare([y], [x], name=EVIL, cache=cache)
    np.testing.assert_array_equal(kernel.run([X], {}, 1)[0], X * 2)
    for text in ("system(", "#error", '";', "\x1b", "*/ \\"):
        assert text not in kernel.source
    assert kernel.source.isascii()
    assert len(max(re.findall(r"\w+", kernel.source), key=len)) < 64


def test_a_frame_of_a_kernel_names_the_operator_and_its_line(cache: Store) -> None:
    x = np.zeros((64, 64), np.float32)
    kernel, _, _ = prepare(
        lambda t: [dsl.reduce_max(t, 1), dsl.vexp(dsl.transpose(t))],
        x,
        cache=cache,
        name="my_softmax",
    )
    library = kernel.programs[0].file
    listed = subprocess.run(["nm", str(library)], capture_output=True, text=True, check=True).stdout
    own = re.findall(r"^([0-9a-f]+) [tT] (\S+)$", listed, re.MULTILINE)
    code = {
        name: place
        for place, name in own
        if not name.startswith(("_", "deregister", "register", "frame"))
    }
    assert code
    assert all(name.startswith("k_my_softmax") for name in code)
    where = subprocess.run(
        ["addr2line", "-f", "-e", str(library), code["k_my_softmax"]],
        capture_output=True,
        text=True,
        check=True,
    )
    function, line = where.stdout.splitlines()
    assert function == "k_my_softmax"
    assert re.search(r"kernel\.c:\d+$", line.split(" ")[0])


def test_ziglang_is_told_nothing_that_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails with an error where others only warn."""
    for command, told in (("gcc",), True), (("python", "-m", "ziglang", "cc"), False):
        monkeypatch.setattr(
            compiler, "find_compiler", lambda command=command: compiler.Compiler(command, "one")
        )
        assert (compiler.NO_CLONES in compiler.recipe("0").flags) is told
