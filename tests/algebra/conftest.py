from __future__ import annotations

from hypothesis import settings

# Time limits a single example must not depend on how busy the machine is.
settings.register_profile("layoutcheck", deadline=None)
settings.load_profile("layoutcheck")
