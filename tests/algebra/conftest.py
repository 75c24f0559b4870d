from __future__ import annotations

from hypothesis import settings

# Time limits for one example must not depend on how busy the machine is.
settings.register_profile("layoutcheck", deadline=None, max_examples=25)
settings.load_profile("layoutcheck")
