# ruff: noqa: E501 - what compilers print
"""A static assertion of C++ is evaluated for the template arguments that the compiler prints (as nvcc 13.0 does)."""

from __future__ import annotations

import re

import pytest

from layoutcheck.catalogue import answers

CUTE = "/usr/include/cute/"


def text(header: str, said: str, condition: str, instance: str, call: str = "") -> str:
    """What nvcc prints of one assertion."""
    made = (
        f'instantiation of "void cute::inner(T &) [with {instance}]" at line 7 of {CUTE}algorithm/copy.hpp\n'
    )
    return (
        f'{CUTE}{header}(53): error: static assertion failed with "{said}"\n    static_assert({condition}, "{said}");\n'
        f"    ^\n          detected during:\n            {made}            {call}\n"
    )


@pytest.mark.parametrize(
    ("condition", "instance", "told"),
    [
        ("decltype(size<1>(B) == size<2>(C))::value",
         "BLayout=cute::Layout<cute::tuple<cute::_2, cute::_3>, cute::tuple<cute::_1, cute::_2>>, CLayout=cute::Layout<cute::tuple<cute::_4, cute::_2, cute::_5>, cute::tuple<cute::_1, cute::_4, cute::_8>>",
         "the size of mode 1 of B is 3 and the size of mode 2 of C is 5"),
        ("sizeof(TS) == 4 || sizeof(TS) == 8", "TS=uint16_t, TD=uint16_t", "here the size in bytes of TS is 2."),
        ("(N % 16 == 0) && (16 <= N) && (M <= 256)", "M=128, N=136", "here N is 136."),
        ("rank_v<AtomLayoutMNK> == 3", "AtomLayoutMNK=cute::Layout<cute::tuple<cute::_2, cute::C<2>>, cute::tuple<cute::_1, cute::_2>>",
         "here the number of modes of AtomLayoutMNK is 2."),
        ("DispatchPolicy::Stages >= 2", "Stages=1, Shape=cute::tuple<int, cute::C<4>>", "here DispatchPolicy.Stages is 1."),
        ("tuple_size<T0>::value == tuple_size<T1>::value", "T0=cute::tuple<int, int>, T1=cute::tuple<int, int, int>",
         "the number of elements of T0 is 2 and the number of elements of T1 is 3"),
        ("I < sizeof...(T)", "I=2UL, T=<cute::_8, cute::_8>", "here I is 2 and the number of elements of T is 2."),
        ("size<0>(TileShape{}) % size<0>(Atom{}) == 0", "TileShape=cute::tuple<cute::_96, cute::_64>, Atom=cute::tuple<cute::_64, cute::_8>",
         "the size of mode 0 of TileShape is 96 and the size of mode 0 of Atom is 64"),
        ("MajorB == GMMA::Major::K", "MajorB=cute::SM90::GMMA::Major::MN", "here MajorB is MN."),
        ("Stages == 0", "Stages=1, Element=cutlass::half_t", "here Stages is 1."),
        ("Tile_N % 128 == 0", "TileShape_MNK=cute::tuple<cute::_128, cute::_32, cute::_64>", "here Tile_N is 32 (of TileShape_MNK, by its name)."),
        ("CTA_M == 64 || CTA_M == 32", "TileShape_MNK=cute::tuple<cute::C<128>, cute::_32, cute::_64>, EpilogueTile=cute::tuple<cute::_64, cute::_32>",
         "here CTA_M is 128 (of TileShape_MNK, by its name)."),
        ("BLK_K0 % 16 == 0", "BLK_MN=cute::_128, BLK_K=cute::_8", "here BLK_K0 is 8 (of BLK_K, by its name)."),
        ("EPI_N <= 32", "TileShape_MNK=cute::tuple<cute::_128, cute::_32, cute::_64>, EpilogueTile=cute::tuple<cute::_64, cute::_48>",
         "here EPI_N is 48 (of EpilogueTile, by its name)."),
    ],
)  # fmt: skip
def test_operands_are_evaluated(condition, instance, told):
    """The operands of what is false stand beside what must hold, and of a conjunction only those of its false parts."""
    said = answers(text("arch/other.hpp", "an unheard-of demand", condition, instance))[0].cause
    assert said.startswith("It must hold that ")
    assert told in said


@pytest.mark.parametrize(
    ("condition", "instance"),
    [
        ("Tile_N % 8 == 0", "Tile=cute::tuple<cute::_64, cute::_8>"),  # made in the function: not bound
        ("rank(tA) == Int<2>{}", "T=float"),
        ("CTA_M == 64", "TileShape=cute::tuple<cute::_128, cute::_64>, CtaTileShape_MNK=cute::tuple<cute::_256, cute::_64>"),  # which?
        ("BLK_K % 64 == 0", "TileShape_MN=cute::tuple<cute::_128, cute::_64>"),  # no third mode
        ("M == 64", "TileShape=cute::tuple<cute::_128, cute::_64>"),  # the problem's or the tile's
        ("size(src) == 8", "SLayout=cute::Layout<cute::_8, cute::_1>"),  # it would hold: another src is meant
        ("size(A) == size(B)", "ALayout=cute::Layout<cute::tuple<int, cute::_4>>"),  # of the run
        ("Shape::kM % Warp::kM == 0", "Shape=cutlass::gemm::GemmShape<128, 96, 32>, Warp=cutlass::gemm::GemmShape<64, 64, 32>"),
    ],
)  # fmt: skip
def test_what_is_not_bound_has_no_value(condition, instance):
    said = answers(text("arch/other.hpp", "an unheard-of demand", condition, instance))[0].cause
    assert "for these template arguments it does not" in said
    assert "; here " not in said


def test_what_the_message_names_is_told_where_the_condition_goes_on_below():
    instance = (
        "ElementC=float, ElementD=cutlass::float_e3m2_t, TileShape_MNK=cute::tuple<cute::_128, cute::_32>"
    )
    printed = text(
        "arch/other.hpp", "FP6 ElementD must have a tile that is a multiple of 128.", "!IsFP6 ||", instance
    )
    found = answers(re.sub(r'\|\|, ".*', "||", printed))[0]
    assert found.facts == (
        "ElementD=cutlass::float_e3m2_t",
        "TileShape_MNK=cute::tuple<cute::_128, cute::_32>",
    )


def test_the_call_of_the_user_is_named():
    """It is the first instantiation that a file outside of the library makes, with the layouts that it gives."""
    call = (
        'instantiation of "auto cute::local_tile(Tensor &&, const Tiler &) [with Tensor=float *, '
        'Tiler=cute::tuple<cute::C<16>, cute::C<16>>]" at line 5 of gemm.cu'
    )
    condition = "tuple_size<A>::value == tuple_size<B>::value"
    answer = answers(
        text("underscore.hpp", "Mismatched Ranks", condition, "A=cute::tuple<int>, B=int", call)
    )[0]
    assert "the call is cute::local_tile at gemm.cu:5 (Tiler = (16,16))" in answer.facts
    assert answer.entry.name != "cpp.copy-ranks"  # no copy is refused


def test_a_second_assertion_has_its_own_values():
    first = text(
        "arch/copy_sm80.hpp", "cp.async sizeof(TS) is not supported", "sizeof(TS) == 4", "TS=uint16_t"
    )
    tile = "Tile=cute::tuple<cute::_32, cute::_8>"
    second = text("arch/mma_sm90.hpp", "Tile_M must be a multiple of 64.", "size<0>(Tile{}) % 64 == 0", tile)
    one, other = answers(first + second)
    assert "the size in bytes of TS is 2" in one.facts[0]
    assert "the size of mode 0 of Tile is 32" in other.facts[0]


@pytest.mark.parametrize(
    ("said", "condition"),
    [("SM100 wants them alike", "A_is_B"), ("zork", "dependent_false<T>"), ("zork", "")],
)
def test_a_condition_speaks_before_guesses(said, condition):
    """No architecture is blamed where a condition is false; with neither condition nor words it is said that nothing is explained."""
    shown = text("atom/other.hpp", said, condition or "x", "T=float")
    shown = shown if condition else shown.partition("\n")[0]
    cause = answers(shown)[0].cause
    assert "other architectures" not in cause
    assert ("Recognised, not explained" in cause) == (not condition)


@pytest.mark.parametrize(
    ("header", "said", "never"),
    [
        ("container/bit_field.hpp", "sizeof(OtherValueType) must be same as sizeof(value_type).", "cpp.type-width"),
        ("../cutlass/cluster_launch.hpp", "You cannot take the address of a const rvalue reference", "cpp.launch-refused"),
        ("../cutlass/epilogue/fusion/visitor.hpp", "sub-16B alignment not supported yet", "cpp.cp-async-operands"),
        ("stride.hpp", "Mismatched Ranks", "cpp.copy-ranks"),
    ],
)  # fmt: skip
def test_other_headers_own_their_words(header, said, never):
    """Messages of CUTLASS 4.8 that were taken for another operation's."""
    found = answers(f'/usr/include/cute/{header}(5): error: static assertion failed with "{said}"')
    assert found and never not in [one.entry.name for one in found]


def test_what_follows_an_assertion_is_not_the_cause():
    first = text("layout.hpp", "logical_divide: an odd tiler", "rank_v<Tiler> == 2", "Tiler=cute::_8")
    later = f'{CUTE}layout.hpp(77): error: no instance of function template "cute::make_layout" matches the argument list\n'
    assert answers(first + later)[0].entry.name == "cpp.other-assertion"
    assert answers(later + first)[0].entry.name == "cpp.no-overload"


@pytest.mark.parametrize(
    ("shown", "entry", "told"),
    [
        ("Kokkos contract violation:\n  Asserted condition `block_size > 0` evaluated false.", "elsewhere.assertion", "kokkos/kokkos"),
        ('Kokkos_View.hpp(1223): error: static assertion failed with "Number of extents is insufficient"\n  static_assert(sizeof...(Args) >= rank(),\n  ^\n   detected during:\n'
         '  instantiation of "size_t Kokkos::View<T>::size(Args...) [with T=double [24][16], Args=<>]" at line 135 of gemm.hpp', "elsewhere.compile", "kokkos/kokkos"),
        ("Wrong answer! 14663841 errors! 87.4%\ntest: common.h:396: void assert_allclose(DType*): Assertion errors == 0' failed.\nAborted (core dumped)", "results-differ", ""),
    ],
)  # fmt: skip
def test_another_program_owns_what_it_says(shown, entry, told):
    """Its own assertions are not CuTe's, and its abort is not the death of the DSL's compiler."""
    found = answers(shown)[0]
    assert found.entry.name == entry and told in found.remedy
