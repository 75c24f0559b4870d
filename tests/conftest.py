"""Hypothesis, for every test module: no time limit an example, and on CI the same examples every time."""

from __future__ import annotations

import os

from hypothesis import settings

# Time limits for one example must not depend on how busy the machine is.
settings.register_profile(
    "layoutcheck", deadline=None, max_examples=25, derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("layoutcheck")
