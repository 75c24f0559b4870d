"""Parameters of a kernel, as the bytes that a launch hands over."""


def pack(*values: tuple[int, int]) -> bytes:
    """A parameter struct: `(value, width in bytes)` each at its natural alignment, little-endian."""
    out = b""
    for value, width in values:
        out += b"\0" * (-len(out) % width)
        out += (value % (1 << 8 * width)).to_bytes(width, "little")
    return out
