"""What is tested here is what a trace is judged by, not how a program is started."""

from tests.forking import traced_in_forks

__all__ = ["traced_in_forks"]
