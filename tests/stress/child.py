"""One kernel in its own process: ``python -m tests.stress.child`` prints result and origin."""

from __future__ import annotations

import json

from tests.stress.kernels import POINTS, swish, swish_is_right


def main() -> None:
    kernel = swish(0)
    right = swish_is_right(0, kernel(POINTS)) and swish_is_right(0, kernel(POINTS))
    right = right and swish_is_right(1, swish(1)(POINTS))
    libraries = [str(one.file) for one in kernel.compiled.programs]
    print(json.dumps({"right": right, "libraries": libraries}))


if __name__ == "__main__":
    main()
