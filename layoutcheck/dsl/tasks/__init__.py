"""What the child process does with the DSL: a kind of question a module. The DSL is imported when asked."""

from __future__ import annotations

from typing import Any

Item = dict[str, Any]  # a question, and its answer
