"""The transposes of kernels/ on a device, bit for bit."""

import pytest

pytest.importorskip("cutlass", reason="kernels/ needs nvidia-cutlass-dsl")
torch = pytest.importorskip("torch", reason="the device check needs torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

from benchmarks.transpose_checks import check_shapes, check_variants, fastest_launch  # noqa: E402


def test_every_variant_does_what_its_verdict_says():
    found = check_variants()
    assert "rejected" in found.pop("broken")
    assert "isaligned" in found.pop("broken_at_run_time")["fault"]
    silent = found.pop("broken_silently")
    assert silent["corrupts_as_predicted"] and min(silent["wrong_elements"]) > 0
    assert {name for name, result in found.items() if result["wrong_elements"] != [0, 0]} == set()


def test_fastest_takes_any_shape_and_stride():
    assert [case for case in check_shapes(fastest_launch) if case["wrong_elements"]] == []
