"""``python -m case_studies.detector``; ``QUICK=1`` in the environment selects the short form."""

from __future__ import annotations

import os

from case_studies.detector.story import QUICK, WHOLE, tell

if __name__ == "__main__":
    tell(QUICK if os.environ.get("QUICK", "0") not in ("", "0") else WHOLE)
