"""Modules in MLIR's generic form, generated, written and read back; and text that is none."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.brackets import split
from layoutcheck.errors import InputError
from layoutcheck.sources.mlir import Module, Operation, integer, integers, parse
from tests.sources.locations import CallSite, FileLine, Fused, Location, Named, Unknown, parse_location

TRACED = Path(__file__).parents[1] / "data" / "traced.mlir"

types = st.sampled_from(
    ["i32", "f16", '!cute.memref<f16, gmem, align<16>, "((8,1),(4,1)):((1,0),(1024,0))">',
     "!llvm.struct<(i32, array<2 x f32>)>", "vector<2xf16>", "(i32) -> i64",
     "memref<4x?xf32, affine_map<(d0) -> (d0)>>"]
)  # fmt: skip
attributes = st.dictionaries(
    st.sampled_from(["value", "sym_name", "operandSegmentSizes", "flag", "fast.math"]),
    st.sampled_from(["4 : i32", '"a, \\22quoted\\22 {name"', "array<i32: 1, 0, 2>", "", "{a = [1, 2], b}"]),
    max_size=3,
)
names = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=8)
places = st.builds(
    lambda path, line, column, end: FileLine(path, line, column, *(end or (None, None))),
    names,
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.none() | st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)),
)
locations = st.recursive(
    places | st.just(Unknown()),
    lambda inner: (
        st.builds(Named, names, inner)
        | st.builds(CallSite, inner, inner)
        | st.builds(Fused, st.lists(inner, min_size=1, max_size=3).map(tuple))
    ),
    max_leaves=8,
)


def location_of(op: Operation) -> Location:
    return parse_location(op.location_text, op.aliases)


def quoted(text: str) -> str:
    return (
        '"'
        + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in text.encode())
        + '"'
    )


def printed(location: Location) -> str:
    if isinstance(location, FileLine):
        end = f" to {location.end_line}:{location.end_column}" if location.end_line is not None else ""
        return f"{quoted(location.path)}:{location.line}:{location.column}{end}"
    if isinstance(location, Named):
        child = "" if isinstance(location.child, Unknown) else f"({printed(location.child)})"
        return quoted(location.name) + child
    if isinstance(location, CallSite):
        return f"callsite({printed(location.callee)} at {printed(location.caller)})"
    if isinstance(location, Fused):
        return f"fused[{', '.join(map(printed, location.locations))}]"
    return "unknown"


@st.composite
def modules(draw: st.DrawFn) -> tuple[str, list[tuple[str, list[str], list[str], dict[str, str], Location]]]:
    """A module's text, and what each of its operations consists of."""
    expected = []
    counter = iter(range(10**6))

    def operation(depth: int, seen: list[tuple[str, str]], indent: str) -> str:
        operands = draw(st.lists(st.sampled_from(seen), max_size=3)) if seen else []
        results = draw(st.lists(types, max_size=3))
        given_attributes, location = draw(attributes), draw(locations)
        name = draw(st.sampled_from(["cute.copy", "scf.for", "arith.addi", "a.b_c"]))
        number = f"%{next(counter)}"
        head = ""
        if results:
            head = f"{number} = " if len(results) == 1 else f"{number}:{len(results)} = "
        expected.append((name, [t for _, t in operands], results, given_attributes, location))
        body = ""
        if depth < 3 and draw(st.booleans()):
            body = f" ({{\n{block(depth + 1, list(seen), indent + '  ')}{indent}}})"
        entries = ", ".join(f"{k} = {v}" if v else k for k, v in given_attributes.items())
        place = draw(st.sampled_from(["properties", "attributes"]))
        before = f" <{{{entries}}}>" if entries and place == "properties" else ""
        after = f" {{{entries}}}" if entries and place == "attributes" else ""
        # A type of results that is itself a function has to stand in parentheses.
        ends = f"({', '.join(results)})" if len(results) != 1 or results[0].startswith("(") else results[0]
        line = (
            f"{indent}{head}{quoted(name)}({', '.join(n for n, _ in operands)}){before}{body}{after} : "
            f"({', '.join(t for _, t in operands)}) -> {ends} loc({printed(location)})\n"
        )
        for k, type_ in enumerate(results):
            seen.append((number if len(results) == 1 else f"{number}#{k}", type_))
        return line

    def block(depth: int, seen: list[tuple[str, str]], indent: str) -> str:
        text = ""
        if draw(st.booleans()):
            arguments = [(f"%arg{next(counter)}", t) for t in draw(st.lists(types, min_size=1, max_size=2))]
            text += (
                f"{indent}^bb0({', '.join(f'{n}: {t} loc(unknown)' for n, t in arguments)}):  // no preds\n"
            )
            seen += arguments
        for _ in range(draw(st.integers(0, 3))):
            text += operation(depth, seen, indent)
        return text

    seen: list[tuple[str, str]] = []
    text = "".join(operation(0, seen, "") for _ in range(draw(st.integers(0, 3))))
    return text, expected


@given(modules())
def test_what_is_printed_is_read(
    case: tuple[str, list[tuple[str, list[str], list[str], dict[str, str], Location]]],
) -> None:
    text, expected = case
    read = [
        (op.name, [v.type for v in op.operands], [v.type for v in op.results], op.attributes, location_of(op))
        for op in parse(text).walk()
    ]
    assert read == expected


@given(locations)
def test_locations_are_read_as_printed(location: Location) -> None:
    assert parse_location(printed(location)) == location


@given(modules(), st.data())
def test_broken_text_is_an_input_error_with_its_place(
    case: tuple[str, list[object]], data: st.DataObject
) -> None:
    text = case[0]
    at = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 8))
    broken = text[:at] + data.draw(st.text('"(){}<>[]%^:#,=- a0\n\\', max_size=4)) + text[at + length :]
    try:
        for op in parse(broken).walk():
            assert location_of(op) is not None
    except InputError as error:
        assert error.text is not None
        assert 0 <= error.start <= len(error.text)


@given(st.text(max_size=200))
def test_any_text_is_a_module_or_an_input_error(text: str) -> None:
    try:
        assert isinstance(parse(text), Module)
    except InputError as error:
        assert error.text is not None


@pytest.mark.parametrize(
    "text",
    [
        '"a"() ({\n' * 100_000,
        "(" * 1_000_000,
        '"a"(' + "%0, " * 200_000,
        ", ".join(["%0"] * 200_000),
        '"a"() : () -> ' + "tuple<" * 200_000,
        '"a"() : () -> () loc(' + "callsite(" * 200_000,
        '"a"() {' + "x = {" * 200_000,
        '"' * 500_001,
        '"a"() : () -> () loc("x"' + "//\n" * 200_000,
        "#a = loc(#a)\n" + '"a"() : () -> () loc(#a)\n',
    ],
)
def test_hostile_text_is_refused_in_time(text: str) -> None:
    start = time.process_time()
    with pytest.raises(InputError):
        print([location_of(op) for op in parse(text).walk()])
    assert time.process_time() - start < 2


def test_blocks_branch_to_each_other_and_use_later_values() -> None:
    text = """
    "llvm.func"() ({
    ^bb0(%arg0: i1):
      %0:2 = "llvm.mlir.constant"() <{value = 1 : i32}> : () -> (i32, i64)
      "llvm.cond_br"(%arg0, %3)[^bb1, ^bb2] : (i1, i32) -> ()
    ^bb1:  // pred: ^bb0
      "llvm.br"(%0#1)[^bb2] : (i64) -> ()
    ^bb2(%1: i64 loc("x.py":1:2)):  // 2 preds: ^bb0, ^bb1
      %3 = "a.late"(%1) : (i64) -> i32
    }) {sym_name = "f"} : () -> ()
    """
    function = parse(text).operations[0]
    entry, one, two = function.regions[0].blocks
    assert entry.operations[1].successors == [one, two]
    assert entry.operations[1].operands[1] is two.operations[0].results[0]
    assert one.operations[0].operands[0] is entry.operations[0].results[1]
    assert two.arguments[0].owner is two
    assert two.arguments[0].location_text == '"x.py":1:2'
    assert two.operations[0].parent_operation is function


def test_an_isolated_operation_names_its_values_anew() -> None:
    function = '"func.func"() ({\n  %0 = "a"() : () -> i32\n  "b"(%0) : (i32) -> ()\n}) : () -> ()\n'
    module = parse('"builtin.module"() ({\n' + 2 * function + "}) : () -> ()")
    first, second = (
        f.regions[0].blocks[0].operations for f in module.operations[0].regions[0].blocks[0].operations
    )
    assert first[1].operands[0] is first[0].results[0]
    assert second[1].operands[0] is second[0].results[0]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('"a"(%0) : (i32) -> ()', "%0"),
        ('%0 = "a"() : () -> i32\n%0 = "b"() : () -> i32', "%0 = \"b"),
        ('"a"()[^bb1] : () -> ()', '"a"'),
        ('"r"() ({\n"a"()[^bb1] : () -> ()\n}) : () -> ()', '"a"'),
        ('%0 = "a"() : () -> (i32, i32)', '%0 = "a"'),
        ('"a"() : (i32) -> ()', '"a"'),
        ('"a"() : () -> (i32>)', ">)"),
        ("func.func @f() {}", "func"),
    ],
)  # fmt: skip
def test_the_place_of_an_error(text: str, place: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.text is not None
    assert caught.value.text[caught.value.start :].startswith(place)


def test_attribute_values() -> None:
    assert [integer(t) for t in ("4 : i32", "-1 : i64", "true", "0xFF", '"a"', "4.0 : f32")] == [
        4, -1, 1, 255, None, None,
    ]  # fmt: skip
    assert integers("array<i32: 1, -2>") == (1, -2)
    assert integers("dense<[3, 4]> : vector<2xi32>") == (3, 4)
    assert integers("array<i32>") == ()
    assert integers("[1, 2]") is None
    assert split('a<b, c>, "d, e", (f) -> g') == ["a<b, c>", '"d, e"', "(f) -> g"]


def test_a_traced_kernel() -> None:
    """A module as the DSL printed it: three copies, each with the file and line that wrote it."""
    module = parse(TRACED.read_text())
    copies = [op for op in module.walk() if op.name == "cute.copy"]
    assert [op.operands[0].type.split("<")[0] for op in copies] == [
        "!cute.tiled_copy",
        "!cute_nvgpu.atom.universal_copy",
        "!cute_nvgpu.atom.universal_copy",
    ]
    for op in copies:
        assert all(value.type.startswith("!cute") for value in op.operands)
        assert all(isinstance(value.owner, Operation) for value in op.operands[1:])
    places = [[place for _, place in location_of(op).frames() if place.path == "kernel.py"] for op in copies]
    assert [found[0].line for found in places] == [21, 23, 24]
    assert [name for name, place in location_of(copies[0]).frames() if place.path == "kernel.py"] == [
        "kernel",
        "host",
    ]


def test_a_big_module_is_read_quickly() -> None:
    text = TRACED.read_text()
    many = text * (4_000 // sum(1 for _ in parse(text).walk()))
    start = time.process_time()
    parse(many)
    assert time.process_time() - start < 1.0  # 0.1 s on an idle machine


def test_fused_locations_may_have_metadata() -> None:
    plain = parse_location('fused["a.py":1:2, "b.py":3:4]')
    told = parse_location('fused<"pass">["a.py":1:2, "b.py":3:4]')
    assert isinstance(plain, Fused) and isinstance(told, Fused)
    assert plain.locations == told.locations == (FileLine("a.py", 1, 2), FileLine("b.py", 3, 4))
    assert (plain.metadata, told.metadata) == ("", '"pass"')
    with pytest.raises(InputError, match="never ends"):
        parse_location('fused<"pass"')
