"""One list of options: what the API, the command line, JSON Lines and cases take is what `Request` has."""

import inspect
import json
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import layoutcheck as lc
from layoutcheck.cli import arguments
from layoutcheck.cli.explain import explain
from layoutcheck.errors import InputError
from layoutcheck.request import Request, help_of, kind_of
from layoutcheck.sources.cases import case, case_names
from layoutcheck.sources.records import read_record
from layoutcheck.sources.request import build

NAMES = [one.name for one in fields(Request)]
ATOM = {"atom": "cp.async", "bits": 128, "dtype": "bf16"}
TILE = {"src": "(64,64):(1,64)", "dst": "(64,64):(1,64)", "atom": "tma_load", "dtype": "bf16"}
GOOD = {"src": "(8):(1)", "dst": "(8):(1)", **ATOM}
# A copy that takes the option, for each that the plain one does not.
TAKERS: dict[str, dict[str, Any]] = dict.fromkeys(
    ("tiler", "coord", "described", "internal_type"), TILE
) | {
    "im2col": {"src": "(64,8,8,2):(1,64,512,4096)", "dst": "((64),(8,8,2)):((1),(64,512,4096))",
               "atom": "im2col_tma_load", "dtype": "bf16"},
    "index": {"src": "(64,256):(256,1)", "dst": "(4,64):(64,1)", "atom": "tma_gather4", "dtype": "bf16"},
    "expect_bytes": {**GOOD, "atom": "bulk.g2s"},
    "thr": {**GOOD, "src": "(64,8):(8,1)", "dst": "(64,8):(8,1)", "val": "(1,8):(0,1)"},
    "val": {**GOOD, "src": "(64,8):(8,1)", "dst": "(64,8):(8,1)", "thr": "(64,1):(1,0)"},
    "cluster": {**GOOD, "atom": "bulk.g2s.multicast", "mcast_mask": 3},
    "mcast_mask": {**GOOD, "atom": "bulk.g2s.multicast", "cluster": 2},
    "cta_rank": {**GOOD, "atom": "bulk.s2s", "cluster": 2},
    "waits_rank": {**GOOD, "atom": "bulk.s2s", "cluster": 2, "cta_rank": 1},
}  # fmt: skip
STRANGE: list[Any] = [
    "128", "", "x" * 500, b"8", 0, -1, 1.5, float("nan"), 10**30, True, False, [], [1, 2], {}, {"a": 1}, (),
    (1, (2, "x")), {1, 2}, object(), print, int, ..., np.arange(3), np.float32(2.0), np.int64(128),
    lc.Layout((8,), (1,)), lc.Swizzle(3, 4, 3), "Ⅷ", "(8):(1", "S<9,9,9>",
]  # fmt: skip


def test_the_signature_is_the_requests() -> None:
    expected = inspect.signature(Request).parameters
    for function in (lc.check, build):
        found = inspect.signature(function).parameters
        assert [(one.name, one.default, one.kind) for one in found.values()] == [
            (one.name, one.default, one.kind) for one in expected.values()
        ]
        assert all("Annotated" not in str(one) for one in found.values())
    assert all(f"`{name}`" in (lc.check.__doc__ or "") for name in NAMES)


def test_the_command_line_has_every_option() -> None:
    options = arguments._options(explain)
    assert set(NAMES) < set(options)
    for one in fields(Request):
        kind, option = options[one.name]
        wanted = kind_of(one) or str
        assert kind in (wanted, wanted | None) and option.help == help_of(one)
        assert arguments._defaults(explain)[one.name] == (None if one.default is MISSING else one.default)


def test_json_lines_have_every_key_and_no_other_type() -> None:
    for one in fields(Request):
        wanted = kind_of(one) or str
        strange: Any = 3 if wanted is str else "3"
        line = json.dumps({"src": "(8):(1)", "dst": "(8):(1)", **ATOM, one.name: strange})
        if one.name != "mcast_mask":
            with pytest.raises(InputError, match=f"'{one.name}' is "):
                read_record(line)
    with pytest.raises(InputError, match=r"unknown key 'evict_prioritty' \(did you mean evict_prio"):
        read_record(json.dumps({**GOOD, "evict_prioritty": True}))


@pytest.mark.parametrize("name", case_names())
def test_a_case_is_a_request(name: str) -> None:
    for copy in case(name).copies:
        request = Request(**copy)
        words = [word for key, value in copy.items() if key not in ("src", "dst")
                 for word in (f"--{key.replace('_', '-')}", str(value))]  # fmt: skip
        read = arguments.read(explain, [copy["src"], copy["dst"], *words])
        assert read is not None and Request(**read["given"]) == request
        if "mcast_mask" not in copy:
            assert read_record(json.dumps(copy)).copy == build(**copy)[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_value_of_another_type_is_an_input_error(name: str) -> None:
    """And one about that argument, where it has one type."""
    kind = next(kind_of(one) for one in fields(Request) if one.name == name)
    taker = TAKERS.get(name, GOOD)
    for value in STRANGE:
        message = _refusal({**taker, name: value})
        fits = kind is None or (type(value) is kind if kind is not int else type(value) in (int, np.int64))
        assert fits or f"'{name}' is " in message, (value, message)


def _refusal(given: dict[str, Any]) -> str:
    try:
        lc.check(**given)
    except InputError as error:
        return str(error)
    return ""


STATED = {
    "src": '!cute.memref<bf16, gmem, align<16>, "(8):(1)">',
    "dst": '!cute.memref<bf16, smem, align<128>, "(8):(1)">',
}  # fmt: skip
PRINTED = "!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>"
BARE = {"src": "(64,64):(64,1)", "dst": "(64,64):(64,1)"}
# Copies to which each option is said in turn: bare and stated operands, views and tiles, every kind of atom.
BASES: dict[str, dict[str, Any]] = {
    "layouts": GOOD,
    "stated": {**STATED, "atom": "cp.async", "bits": 128},
    "printed": {**STATED, "atom": PRINTED},
    "width in the name": {"src": "(8):(1)", "dst": "(8):(1)", "dtype": "bf16", "atom": "cp.async.128"},
    "autovec": {"src": "(8):(1)", "dst": "(8):(1)", "dtype": "bf16"},
    "autovec by name": {"src": "(8):(1)", "dst": "(8):(1)", "dtype": "bf16", "atom": "autovec"},
    "tiles": {**BARE, **ATOM, "thr": "(16,8):(8,1)", "val": "(1,8):(0,1)"},
    "bulk": {**GOOD, "atom": "bulk.g2s", "bits": None},
    "bulk tiles": {**BARE, "atom": "bulk.g2s", "dtype": "bf16", "thr": "(1,1):(0,0)", "val": "(1,64):(0,1)"},
    "cluster tiles": {
        **BARE,
        "atom": "st.async",
        "dtype": "f32",
        "thr": "(16,8):(8,1)",
        "val": "(1,1):(0,1)",
    },
    "tma": TILE,
    "rows": TAKERS["index"],
}
SAID: dict[str, list[dict[str, Any]]] = {
    name: [{name: value} for value in values]
    for name, values in {
        "bits": [32, 64], "dtype": ["f32", "i8"], "pred": ["(1):(1)"], "arch": ["sm_80", "sm_100a"],
        "tiled": ["!cute.tiled_copy<x>"], "src_space": ["rmem", "smem", "gmem"],
        "dst_space": ["gmem", "rmem", "smem"], "src_align": [2, 4], "dst_align": [2, 4],
        "swizzle": ["S<3,4,3>"], "block": [2, 64], "expect_bytes": [64],
        "tiler": ["(8,8)"], "coord": ["(0,1)"], "described": ["(64,64):(64,1)"], "internal_type": ["u8"],
        "im2col": ["filter=(3,3)"], "index": ["(4,256):(1,0)"], "aux": ["(1):(1)"], "evict_priority": [True],
        "op": ["basic_copy", "copy_atom_call"], "waits_rank": [0],
    }.items()
} | {
    "thr": [{"thr": "(8,16):(16,1)", "val": "(1,4):(0,1)"}, {"thr": "(8):(1)"}],
    "val": [{"thr": "(4,32):(32,1)", "val": "(1,2):(0,1)"}, {"val": "(8):(1)"}],
    "cluster": [{"cluster": 2}, {"cluster": 2, "cta_rank": 1}, {"cluster": 2, "mcast_mask": 3}],
    "mcast_mask": [{"mcast_mask": 3}],
    "cta_rank": [{"cta_rank": 1}, {"cluster": 4, "cta_rank": 1, "waits_rank": 0}],
}  # fmt: skip
# The option repeats what the copy states: it is neither refused nor a change.
REPEATED = {
    ("stated", "src_space", "gmem"), ("stated", "dst_space", "smem"),
    ("printed", "src_space", "gmem"), ("printed", "dst_space", "smem"),
}  # fmt: skip


BASICS = ("src", "dst", "atom")


@pytest.mark.parametrize("base", BASES)
def test_an_option_is_used_or_refused(base: str) -> None:
    plain = build(**BASES[base])
    for name, said in ((one, said) for one in NAMES if one not in BASICS for said in SAID[one]):
        if said.items() <= BASES[base].items():
            continue
        try:
            made = build(**{**BASES[base], **said})
        except InputError:
            continue
        assert made != plain or (base, name, said[name]) in REPEATED, said


def test_the_refusal_names_the_option() -> None:
    for name, value in {"src_space": "rmem", "dst_align": 2, "swizzle": "S<3,4,3>", "block": 64, "bits": 64,
                        "dtype": "f32", "evict_priority": True}.items():  # fmt: skip
        with pytest.raises(InputError, match=f"{name} is not used"):
            lc.check(**{**BASES["printed"], name: value})
    for name, value in {"expect_bytes": 64, "cluster": 2}.items():
        more = {"cta_rank": 1} if name == "cluster" else {}
        with pytest.raises(InputError, match=f"{name} is not used for tiles"):
            lc.check(**{**BASES["cluster tiles"], name: value, **more})


def test_what_a_copy_states_may_be_said_again() -> None:
    plain = build(**BASES["printed"])
    assert plain == build(**BASES["printed"], bits=128, dtype="bf16", src_space="gmem", dst_space="smem",
                          src_align=16, dst_align=128)  # fmt: skip


@pytest.mark.parametrize("count", ["128", 128.0, True, [128]])
@pytest.mark.parametrize("name", [one.name for one in fields(Request) if kind_of(one) is int])
def test_a_count_is_a_whole_number(name: str, count: Any) -> None:
    taker = TAKERS.get(name, GOOD)
    with pytest.raises(InputError, match=f"'{name}' is a whole number, not "):
        build(**{**taker, name: count})


def test_a_number_of_numpy_is_a_number() -> None:
    given = Request("(8):(1)", "(8):(1)", "cp.async", bits=np.int64(128))  # type: ignore[arg-type]
    assert type(given.bits) is int and given.bits == 128


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--case", "issue-2320", "--bits", "128"], "--bits is not used"),
        (["--case", "issue-2320", "(8):(1)", "(8):(1)"], "a case has its own operands"),
        (["-", "--dtype", "bf16"], "--dtype is not used"),
        (["--bits", "128"], "nothing to explain"),
    ],
)
def test_what_would_not_be_used_is_refused(words: list[str], problem: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "layoutcheck", "explain", *words],
        input="", capture_output=True, text=True, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    assert done.returncode == 2 and problem in done.stderr and "Traceback" not in done.stderr


def test_the_slow_way_reads_the_same() -> None:
    """Typer is asked where a line is not plainly right, and calls the command with the same."""
    seen: list[dict[str, Any]] = []

    def command(given: Any, strict: bool = False) -> int:
        seen.append({"given": given, "strict": strict})
        return 0

    command.__annotations__ = {
        name: hint for name, hint in inspect.get_annotations(explain, eval_str=True).items()
        if name in ("given", "strict")
    }  # fmt: skip
    words = ["(8):(1)", "(8):(64)", "--bits", "128", "--op", "copy", "--evict-priority", "--strict"]
    arguments.app({"explain": (command, ""), "other": (command, "")}, "")(
        ["explain", *words], standalone_mode=False
    )
    quick = arguments.read(command, words)
    assert quick == seen[0] == {
        "given": {"src": "(8):(1)", "dst": "(8):(64)", "bits": 128, "evict_priority": True}, "strict": True,
    }  # fmt: skip
