"""The rules: each says when a copy is rejected, wrong, slow or unknown, and why."""
