"""The memory attributes of g2r, r2g, s2r and r2s: which there are, and which ptxas refuses together.

Values and their kinds as DSL 4.8.1 parses them. `refused` is what ptxas 13 said to 444 combinations: the type
and the verifier take them all, and compilation ends at the first instruction.
"""

from __future__ import annotations

from collections.abc import Mapping

_EVICT = ("evict_normal", "evict_first", "evict_last", "evict_unchanged", "no_allocate")
# By name: the kinds that have it, its argument of make_copy_atom, its values, the default first.
ATTRIBUTES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "mem_order": (
        "g2r r2g s2r r2s", "memory_order=cute.nvgpu.MemoryOrder",
        ("weak", "relaxed", "acquire", "release", "acq_rel", "sc", "mmio", "constant", "volatile"),
    ),
    "mem_scope": (
        "g2r r2g s2r r2s", "memory_scope=cute.nvgpu.MemoryScope", ("cta", "cluster", "gpu", "sys")
    ),
    "l2_prefetch_size": (
        "g2r", "l2_prefetch_size=cute.nvgpu.L2PrefetchSize",
        ("none", "reserved", "size_64b", "size_128b", "size_256b"),
    ),
    "l1_cache_evict_priority": (
        "g2r r2g", "l1c_evict_priority=cute.nvgpu.CacheEvictionPriority", _EVICT
    ),
    "load_cache_mode": (
        "g2r", "load_cache_mode=cute.nvgpu.LoadCacheMode",
        ("always", "global", "streaming", "last_use", "none"),
    ),
    "store_cache_mode": (
        "r2g", "store_cache_mode=cute.nvgpu.StoreCacheMode",
        ("write_back", "global", "streaming", "write_through", "none"),
    ),
    "shared_space": ("g2r r2g s2r r2s", "shared_space=cute.nvgpu.SharedSpace", ("cta", "cluster")),
    "invariant": ("g2r", "invariant", ("false", "true")),
}  # fmt: skip
_NOT_OF = {"load": ("release", "acq_rel", "sc"), "store": ("acquire", "acq_rel", "sc")}


def known(kind: str, name: str, value: str) -> bool:
    """Whether atoms of the kind have the attribute, with that value."""
    kinds, _, values = ATTRIBUTES.get(name, ("", "", ()))
    return kind in kinds.split() and value in values


def of(options: tuple[tuple[str, str], ...], name: str) -> str:
    """The value of an attribute."""
    return dict(options).get(name, ATTRIBUTES[name][2][0])


def argument(name: str, value: str) -> str:
    """As `make_copy_atom` takes it."""
    spelled = ATTRIBUTES[name][1]
    return f"{spelled}.{value.upper()}" if "." in spelled else f"{spelled}={value.capitalize()}"


def refused(kind: str, space: str, vector: bool, options: tuple[tuple[str, str], ...]) -> str:
    """Why ptxas refuses an atom between registers and `space`; "" where it does not.

    `vector` says that an instruction moves several words.
    """
    values: Mapping[str, str] = {name: of(options, name) for name in ATTRIBUTES}
    order, scope, evict = values["mem_order"], values["mem_scope"], values["l1_cache_evict_priority"]
    does = "store" if kind[0] == "r" else "load"
    if order in _NOT_OF[does]:
        return f"a {does} has no memory order {order}"
    if order == "mmio" and scope != "sys":
        return f"memory order mmio needs mem_scope sys, not {scope}"
    if order == "mmio" and space == "smem":
        return "shared memory has no memory order mmio"
    if order == "mmio" and vector:
        return "an access of memory order mmio is of one word"
    mode = values["store_cache_mode" if does == "store" else "load_cache_mode"]
    name = f"{does}_cache_mode"
    other = f"memory order {order}" if order in ("mmio", "volatile") else ""
    if mode != ATTRIBUTES[name][2][0] and (does, mode) != ("store", "none"):
        other = f"{name} {mode}"
    if other and evict != "evict_normal":
        return f"l1_cache_evict_priority {evict} goes with no {other}"
    if order == "mmio" and values["l2_prefetch_size"].startswith("size"):
        return "an access of memory order mmio prefetches nothing"
    return ""
