"""Which work of torch is done for a program whose kernels are not launched.

Work on big tensors that only a result needs is left out (products, random numbers, arithmetic of huge ones):
it is for a reference that is compared with what was never launched. A tensor of the right shape and type
stands for its result.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any

from layoutcheck.dsl.observe import NotLaunched
from layoutcheck.dsl.true_integers import made as made_of

BIG = 1 << 18  # elements; what is smaller may hold sizes and indices, and is really computed
HUGE = 1 << 22  # elements; arithmetic with fewer takes less time than its test
_REUSED_BYTES = 32 << 20  # that malloc keeps at most (M_MMAP_THRESHOLD, mallopt(3))
_PRODUCTS = {
    "matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "addmm", "baddbmm", "einsum", "linear", "tensordot",
    "scaled_dot_product_attention", "softmax", "log_softmax", "_scaled_mm", "_grouped_mm",
    "_scaled_grouped_mm", "cross_entropy", "conv2d", "conv3d", "rms_norm", "layer_norm", "logsumexp",
    "cumsum", "sort", "topk",
}  # fmt: skip
_ARITHMETIC = {
    "add", "sub", "rsub", "mul", "div", "abs", "neg", "pow", "square", "sqrt", "rsqrt", "exp", "log", "tanh",
    "sigmoid", "relu", "silu", "gelu", "clamp", "float", "half", "bfloat16", "clone",
}  # fmt: skip
_FILLS = {"random_", "normal_", "uniform_", "bernoulli_", "exponential_"}
_RANDOM = {"randn", "rand", "randint"}
_COMPARISONS = {"allclose", "equal", "isclose"}
_NOT_OF_CPU = re.compile(
    r"Could not run 'aten::\w+(\.\w+)?' with arguments from the 'CPU' backend"
    r"|expected scalar type \w+ but found \w+|mixed dtype \(CPU\)"  # a GPU takes two types of floats
)


class Work:
    """What torch's functions do where there is no GPU."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self._zero_gradients = _zero_gradients(torch)

    def do(self, func: Any, name: str, args: Any, named: dict[str, Any]) -> Any:
        """The function's result on the CPU, or what stands for it."""
        if name in _COMPARISONS and (self._big(args) or self._of_results(args)):
            return self.torch.ones((), dtype=self.torch.bool) if name == "isclose" else True
        if name in _FILLS and self._big(args):
            made_of(name, args, args[0], sure=False)
            return args[0]
        if name in _RANDOM and _numel(named.get("size", args)) > BIG:
            return self._numbers(name, args, named)
        if self._left_out(name, args, named):
            NotLaunched.left_out += 1
            with contextlib.suppress(Exception):
                return self.shaped(func, args, named)
        before = NotLaunched.calls + NotLaunched.left_out
        try:
            made = func(*args, **named)
        except RuntimeError as error:  # torch has it for a GPU alone
            if not _NOT_OF_CPU.match(str(error)):
                raise
            with contextlib.suppress(Exception):
                made = self.shaped(func, args, named)
                NotLaunched.left_out += 1
                return made
            raise
        if "empty" in name:
            self._zero(made)
        really = before == NotLaunched.calls + NotLaunched.left_out
        made_of(name, (*args, *named.values()), made, sure=really)
        return made

    def _big(self, values: Any, least: int = BIG) -> bool:
        return any(
            (isinstance(v, self.torch.Tensor) and v.numel() > least)
            or (isinstance(v, (tuple, list)) and self._big(v, least))
            for v in values
        )  # fmt: skip

    def _of_results(self, values: Any) -> bool:
        """Whether what is compared may be what a kernel would have computed."""
        tensors = [value for value in values if isinstance(value, self.torch.Tensor)]
        return NotLaunched.calls + NotLaunched.left_out > 0 and any(
            one.is_floating_point() for one in tensors
        )

    def _of_their_own(self, values: Any) -> bool:
        """Whether a tensor is of a class that says itself what is computed, perhaps by a kernel."""
        torch = self.torch
        return any(
            (isinstance(v, torch.Tensor) and type(v) not in (torch.Tensor, torch.nn.Parameter))
            or (isinstance(v, (tuple, list)) and self._of_their_own(v))
            for v in values
        )

    def _left_out(self, name: str, args: Any, named: Any) -> bool:
        given = (*args, *named.values())
        if self._of_their_own(given):
            return False
        if name in _PRODUCTS:
            return self._big(given)
        if name not in _ARITHMETIC or "out" in named or not self._big(args, HUGE):
            return False
        tensors = [value for value in given if isinstance(value, self.torch.Tensor)]
        return all(one.is_floating_point() and not one.requires_grad for one in tensors)

    def _numbers(self, name: str, args: Any, named: Any) -> Any:
        """For random numbers: one that a program may divide by, or none where writing it takes long."""
        NotLaunched.left_out += 1
        small = _numel(named.get("size", args)) <= HUGE
        if name == "randint":
            named.setdefault("dtype", self.torch.int64)
        kept = {key: named[key] for key in ("dtype", "device", "requires_grad", "layout") if key in named}
        shape = _shape(name, args, named)
        if name != "randint" and small:
            return self.torch.full(shape[0] if isinstance(shape[0], (tuple, list)) else shape, 0.5, **kept)
        return (self.torch.zeros if small else self.torch.empty)(*shape, **kept)

    def _zero(self, made: Any) -> Any:
        """Memory that nothing sets, of a kernel's result mostly: a program that looks finds no NaN there.

        What is larger is new from the system each time, and so zeros.
        """
        with contextlib.suppress(Exception), self.torch._C.DisableTorchFunction():  # no storage, or no zero
            if made.numel() * made.element_size() <= _REUSED_BYTES:
                made.detach().zero_()
        return made

    def shaped(self, func: Any, args: Any, named: Any) -> Any:
        """A function's result in its shape and type alone."""
        with self.torch._C.DisableTorchFunction():
            made = func(*map(self._to_meta, args), **{k: self._to_meta(v) for k, v in named.items()})
            into = named.get("out")
            return self._from_meta(made, [*args, *named.values()]) if into is None else into

    def _to_meta(self, value: Any) -> Any:
        if isinstance(value, self.torch.Tensor):
            return value.to("meta")
        return type(value)(map(self._to_meta, value)) if type(value) in (tuple, list) else value

    def _from_meta(self, value: Any, given: list[Any]) -> Any:
        if isinstance(value, self.torch.Tensor) and value.is_meta:
            if value.requires_grad:
                return self._zero_gradients.apply(value.detach(), *_differentiated(given))
            return self._zero(self.torch.empty_like(value, device="cpu"))
        if type(value) in (tuple, list):
            return type(value)(self._from_meta(one, given) for one in value)
        return value


def _zero_gradients(torch: Any) -> Any:
    class LeftOut(torch.autograd.Function):  # type: ignore[misc]
        """What was left out, for whose gradients a program asks: those of what it was made of are zeros."""

        @staticmethod
        def forward(context: Any, meta: Any, *given: Any) -> Any:
            context.zeros = [torch.zeros((), dtype=one.dtype).expand(one.shape) for one in given]
            return torch.empty_like(meta, device="cpu")  # new here: one that was given is a view afterwards

        @staticmethod
        def backward(context: Any, *_gradients: Any) -> Any:
            return None, *context.zeros

    return LeftOut


def _differentiated(values: Any) -> list[Any]:
    parts = (
        _differentiated(v) if isinstance(v, (tuple, list)) else [v] * getattr(v, "requires_grad", False)
        for v in values
    )
    return [one for part in parts for one in part]


def _numel(size: Any) -> int:
    count = 1
    for one in size:
        if isinstance(one, (tuple, list)):
            return _numel(one)
        if isinstance(one, int):
            count *= one
    return count


def _shape(name: str, args: Any, named: Any) -> tuple[Any, ...]:
    if "size" in named:
        return (named["size"],)
    if name == "randint":
        return (next(a for a in args if isinstance(a, (tuple, list))),)
    return tuple(args)
