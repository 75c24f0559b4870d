"""`TileRequest`: what is said of a tile. `lc.synthesize` and `layoutcheck synth` take it, by these names."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from layoutcheck.request import Described, Extents, Given, Operand


@dataclass(frozen=True)
class TileRequest(Given):
    """A tile, where it comes from and who reads it (see `layoutcheck.synthesize`).

    The words beside a type are those of `--help`. Raises InputError, which names the argument, where a value
    is of another type.
    """

    tile: Annotated[Extents, "the tile's extents (MN,K): '(128,64)'"]
    src: Annotated[Operand, "the global tensor, 'gmem (?{div=8},?):(1,?{div=8})'; or accumulator"]
    to: Annotated[str | tuple[str, ...], "ldmatrix[.trans], wgmma.A, tcgen05.B, gmem, registers, ..."]
    _: KW_ONLY
    dst: Annotated[Operand | None, "the global tensor of --to gmem"] = None
    dtype: Annotated[Described, "element type of the tile"] = "bf16"
    src_dtype: Annotated[Described | None, "element type of SRC, if it is converted on the way in"] = None
    dst_dtype: Annotated[Described | None, "element type of DST, if it is converted on the way out"] = None
    major: Annotated[str | None, "K or MN: an operand's contiguous mode"] = None
    threads: Annotated[int, "threads of the block"] = 128
    stages: Annotated[int, "tiles in shared memory"] = 1
    arch: Annotated[str, "sm_80, sm_90a, ..."] = "sm_90a"
    engine: Annotated[str | tuple[str, ...] | None, "tma, cp.async, universal, or several"] = None
    align: Annotated[int | None, "bytes that src and dst are aligned to (16)"] = None
    tails: Annotated[bool, "extents may be other than multiples of the tile's: predicates"] = False
    compiled: Annotated[bool, "order plans by the registers and instructions that the DSL gives them"] = False
