"""Copies that are written out, as the text has them and as the DSL builds them."""

import os
from pathlib import Path

import pytest

from layoutcheck.algebra.modes import flatten_layout
from layoutcheck.check import check
from layoutcheck.lint.literal import judge
from layoutcheck.lint.source import Module

SOURCES = Path(__file__).parent / "sources"

BUILD = """
import importlib.util, sys
from pathlib import Path
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_compact_tensor

def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

for name in sys.argv[2:]:
    module = load(Path(sys.argv[1]) / f"{name}.py")
    text = (Path(sys.argv[1]) / f"{name}.py").read_text()
    element = cutlass.Float32 if "Float32" in text else cutlass.BFloat16
    tensor = make_fake_compact_tensor(element, (65536,), assumed_align=16)
    if hasattr(module, "host"):
        host = module.host
    else:
        kernel = next(v for k, v in vars(module).items() if k in ("load", "store"))

        @cute.jit
        def host(x: cute.Tensor):
            kernel(x).launch(grid=(1, 1, 1), block=(32, 1, 1))
    try:
        cute.compile(host, tensor)
    except Exception as error:
        print(name, type(error).__name__, file=sys.stderr)
"""

NAMES = [
    name + twin
    for name in (
        "transposed_load",
        "one_element_per_row",
        "fragment_order",
        "more_threads_than_the_copy",
        "tile_not_divisible",
        "swizzle_units",
        "slices_of_other_sizes",
    )
    for twin in ("", "_fixed")
]


def operands(copy):
    """Both views; `cute.copy` groups what follows the first mode, so modes are compared one by one."""
    views = (copy.src, copy.dst)
    return [(str(v.dtype), v.space, v.align_bytes, v.swizzle, str(flatten_layout(v.layout))) for v in views]


@pytest.mark.sweep
def test_the_text_says_what_the_dsl_builds(tmp_path):
    """One child builds every file; each copy is compared by its operands' types, its atom and its verdict."""
    pytest.importorskip("cutlass", reason="tracing needs nvidia-cutlass-dsl")
    from layoutcheck.dsl.trace import trace_script

    script = tmp_path / "build.py"
    script.write_text(BUILD)
    found = trace_script(str(script), [str(SOURCES), *NAMES], launch=False, arch="sm_90a", timeout_s=300)
    built = {}
    for one in found.copies:
        built.setdefault(Path(one.where.file).stem, []).append(one)
    compared = 0
    for name in NAMES:
        (read,) = judge(Module((SOURCES / f"{name}.py").read_text()))
        call, report = read
        (one,) = built[name]
        assert one.where.line == call.node.lineno, name
        theirs = check(one.copy)
        if report.copy.op == "copy":  # autovec_copy picks an atom of its own and regroups the views for it
            assert operands(report.copy) == operands(one.copy), name
            assert str(report.copy.atom) == str(one.copy.atom), name
        assert (report.verdict == "rejected") == (one.refused is not None), name
        assert theirs.verdict == report.verdict or one.address_source == "types", name
        compared += 1
    print(f"{compared} copies compared, DSL {found.versions}", os.cpu_count())
    assert compared == len(NAMES)
