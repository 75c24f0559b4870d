"""`lint --fix`: what it writes is right, and it writes nothing else."""

from pathlib import Path

import pytest

pytest.importorskip("libcst", reason="--fix needs libcst")

from layoutcheck.cli import run

CHECKED = """from cutlass.cute.runtime import from_dlpack

def f(x):
    assert x.data_ptr() % 16 == 0
    return from_dlpack(x)
"""
HEAD = "import cutlass\nfrom cutlass import cute\nfrom cutlass.cute.nvgpu import cpasync\n"


def fixed(tmp_path, monkeypatch, text, capsys, *words):
    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text(text)
    status = run(["lint", "k.py", "--fix", *words])
    return status, Path("k.py").read_text(), capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from_dlpack(x)", "from_dlpack(x, assumed_align=16)"),
        ("from_dlpack( x )  # keep", "from_dlpack( x, assumed_align=16 )  # keep"),
        ("from_dlpack(x, enable_tvm_ffi=True)", "from_dlpack(x, enable_tvm_ffi=True, assumed_align=16)"),
        (
            "from_dlpack(\n        x,  # mine\n    )",
            "from_dlpack(\n        x,  # mine\n        assumed_align=16,\n    )",
        ),
        (
            "from_dlpack(\n        x,\n        enable_tvm_ffi=True,\n    )",
            "from_dlpack(\n        x,\n        enable_tvm_ffi=True,\n        assumed_align=16,\n    )",
        ),
        ("from_dlpack(x).mark_layout_dynamic()", "from_dlpack(x, assumed_align=16).mark_layout_dynamic()"),
        ("'ä', from_dlpack(x)", "'ä', from_dlpack(x, assumed_align=16)"),
    ],
)
def test_a_checked_alignment_is_told(tmp_path, monkeypatch, capsys, before, after):
    text = CHECKED.replace("from_dlpack(x)", "{}")
    status, now, said = fixed(tmp_path, monkeypatch, text.format(before), capsys)
    assert now == text.format(after)
    assert status == 0
    assert said == "fixed k.py:5: LC266 assumed_align=16, which the code has checked\n"


def test_a_checked_extent_is_told(tmp_path, monkeypatch, capsys):
    text = (
        "from cutlass.cute.runtime import from_dlpack\n\ndef f(x):\n    if x.shape[1] % 8 != 0:\n"
        "        raise ValueError\n    return from_dlpack(x).mark_compact_shape_dynamic(mode=1)\n"
    )
    _, now, _ = fixed(tmp_path, monkeypatch, text, capsys)
    assert now == text.replace("mode=1", "mode=1, divisibility=8")


@pytest.mark.parametrize(
    "guard",
    [
        "pass",
        "assert x.data_ptr() % 12 == 0",
        "assert y.data_ptr() % 16 == 0",
        "assert x.data_ptr() % 16 == 0 or y",
        "assert x.data_ptr() % 16",
        "if y:\n        assert x.data_ptr() % 16 == 0",
        "if x.data_ptr() % 16 == 0:\n        raise ValueError",
        "if x.data_ptr() % 16 != 0:\n        print('bad')",
        "assert x.data_ptr() % 16 == 0\n    x = x[1:]",
    ],
)
def test_what_is_not_proved_is_not_told(tmp_path, monkeypatch, capsys, guard):
    text = CHECKED.replace("f(x)", "f(x, y)").replace("assert x.data_ptr() % 16 == 0", guard)
    assert fixed(tmp_path, monkeypatch, text, capsys) == (0, text, "")


def test_eight_bytes_go_through_l1(tmp_path, monkeypatch, capsys):
    text = HEAD + (
        "atom = cute.make_copy_atom(\n    cpasync.CopyG2SOp(cpasync.LoadCacheMode.GLOBAL),  # why\n"
        "    cutlass.Float32, num_bits_per_copy=64,\n)\n"
    )
    _, now, said = fixed(tmp_path, monkeypatch, text, capsys)
    assert now == text.replace("GLOBAL", "ALWAYS")
    assert "LoadCacheMode.ALWAYS" in said


def test_a_width_without_an_edit_is_left(tmp_path, monkeypatch, capsys):
    text = HEAD + "atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=16)\n"
    assert fixed(tmp_path, monkeypatch, text, capsys) == (1, text, "")


def test_settings_and_comments_hold(tmp_path, monkeypatch, capsys):
    text = CHECKED
    assert fixed(tmp_path, monkeypatch, text, capsys, "--ignore", "LC266")[1:] == (text, "")
    text = text.replace("(x)\n", "(x)  # layoutcheck: ignore[LC266] an element is enough\n")
    assert fixed(tmp_path, monkeypatch, text, capsys)[1:] == (text, "")


def test_line_endings_and_encoding_stay(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    head = b"\xef\xbb\xbffrom cutlass.cute.runtime import from_dlpack\r\ndef f(x):\r\n"
    body = b"\tassert x.data_ptr() % 16 == 0\r\n\treturn from_dlpack("
    Path("k.py").write_bytes(head + body + b"x)")
    assert run(["lint", "k.py", "--fix"]) == 0
    assert Path("k.py").read_bytes() == head + body + b"x, assumed_align=16)"


def test_without_libcst_it_says_so(tmp_path, monkeypatch, capsys):
    import sys

    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text("")
    monkeypatch.setitem(sys.modules, "libcst", None)
    assert run(["lint", "k.py", "--fix"]) == 2
    assert "layoutcheck[fix]" in capsys.readouterr().err
