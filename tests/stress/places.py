"""Row 4: unusable cache directories, real ones where this machine allows mounts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tbe_impl import environment
from tests.stress.parts import Row, Stress, run_python

CACHE = environment.CACHE_DIR.name


@dataclass(frozen=True)
class Place:
    """A cache directory.

    Attributes:
        name: its defect.
        make: creates it at the given path.
        mounting: shell command that mounts something over it before the process starts.
        warnings: largest number of warnings.
    """

    name: str
    make: Callable[[Path], object] = Path.mkdir
    mounting: str = ""
    warnings: int = 1


def _file_above(place: Path) -> None:
    place.parent.rmdir()
    place.parent.write_text("")


def _closed(place: Path) -> None:
    place.mkdir(mode=0o500)


def _open_to_all(place: Path) -> None:
    place.mkdir()
    place.chmod(0o777)


def _another_owners(place: Path) -> None:
    place.mkdir()
    os.chown(place, 12345, 12345)


def _filled(place: Path) -> None:
    place.mkdir()
    answer = run_python("tests.stress.child", **{CACHE: str(place)})
    assert answer.returncode == 0, answer.stderr


PLACES = (
    Place("is fine", warnings=0),
    Place("is not there yet", lambda place: None, warnings=0),
    Place("is a file", lambda place: place.write_text("")),
    Place("is a dangling link", lambda place: place.symlink_to("nowhere")),
    Place("has a file above it", _file_above),
    Place(
        "is writable by all",
        lambda place: [
            place.mkdir(),
            (place / "store").mkdir(),
            (place / "store").chmod(0o777),
        ],
    ),
    Place("is mounted read-only", mounting="mount -t tmpfs -o ro none {}"),
    Place(
        "is mounted read-only and holds the kernel",
        _filled,
        "mount --bind {0} {0} && mount -o remount,ro,bind {0}",
        0,
    ),
    Place("is mounted noexec", mounting="mount -t tmpfs -o noexec none {}"),
    Place("is on a full disk", mounting="mount -t tmpfs -o size=8m none {}"),
    Place(
        "has no room for another file", mounting="mount -t tmpfs -o size=64m,nr_inodes=4 none {}"
    ),
    Place(
        "fills while a kernel is made",
        mounting="mount -t tmpfs -o size=17m none {0} && head -c 1030k /dev/zero > {0}/much",
    ),
)
OF_THE_SUPERUSER = (
    Place(
        "belongs to another user",
        lambda place: [
            place.mkdir(),
            (place / "store").mkdir(),
            os.chown(place / "store", 12345, 12345),
        ],
    ),
)
OF_USERS = (Place("is read-only", _closed),)


def places(stress: Stress) -> str:
    """One process each; its result, its warnings, and no left-overs."""
    can_mount = _can_mount(stress.place)
    done = []
    every = (*PLACES, *(OF_USERS if os.geteuid() else OF_THE_SUPERUSER))
    for place in every if stress.full else stress.chance.sample(every, 4):
        if place.mounting and not can_mount:
            continue
        _check(place, stress.place / f"place-{len(done)}")
        done.append(place.name)
    _check_no_home(stress.place)
    note = (
        ""
        if can_mount
        else "; nothing can be mounted here: read-only, noexec and full disks left out"
    )
    return f"{len(done) + 1} places, all right, one warning for each that cannot be used{note}"


def _can_mount(place: Path) -> bool:
    if not shutil.which("unshare"):
        return False
    asked = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none {place / 'work'}"]
    return subprocess.run(asked, capture_output=True).returncode == 0


def _check(place: Place, parent: Path) -> None:
    parent.mkdir()
    root = parent / "cache"
    place.make(root)
    before = ()
    if place.mounting:
        shell = place.mounting.format(root)
        before = ("unshare", "-m", "sh", "-c", f'{shell} && exec "$@"', "sh")
    answer = run_python("tests.stress.child", before=before, **{CACHE: str(root)})
    _check_answer(place.name, answer, place.warnings)


def _check_no_home(place: Path) -> None:
    gone = {"HOME": "/proc/nobody", CACHE: None, "XDG_CACHE_HOME": None}
    _check_answer("the home is absent", run_python("tests.stress.child", **gone), 1)


def _check_answer(name: str, answer: subprocess.CompletedProcess[str], warnings: int) -> None:
    said = answer.stderr.splitlines()
    assert answer.returncode == 0, f"{name}: exit code {answer.returncode}: {said[-1:]}"
    told = json.loads(answer.stdout)
    assert told["right"], f"{name}: wrong numbers"
    assert len(said) == warnings, f"{name}: {len(said)} warnings: {said}"
    assert not warnings or CACHE in said[0], f"{name}: the warning does not name {CACHE}: {said}"
    for library in told["libraries"]:
        stays = Path(library).parents[1].exists()
        assert not warnings or not stays, f"{name}: {Path(library).parents[1]} stays behind"


ROWS = (
    Row(
        4,
        "cache directory read-only, noexec, full, a file, a dangling link; no home",
        "right, one warning",
        places,
    ),
)
