"""The quickest of some plans for two tensors, on the device at hand: all run a few times, the best again.

They run as a caller's tensors would find the cache: cold. So the launches go round copies of the tensors that
together are larger than the L2, as far as MOST_SETS and SPARE_BYTES allow.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from cuda.bindings import runtime as cuda

CACHES = 4
"""How many times the L2 the launches go round, at least."""

MOST_SETS = 64
"""Copies of tiny tensors, which then stay in the L2."""

LAUNCHES = 2
"""Launches that are timed together, at least."""

SPARE_BYTES = 1 << 31
"""Memory for copies, at most; tensors that do not fit twice are used themselves."""

FINALISTS, ROUNDS = 4, 15
"""Plans that run again, and how often."""

TIE = 1.003
"""Medians that differ by less than this factor are alike: the plan that is listed first is taken."""

DOUBT = 1.03
"""By what factor a variant must be quicker than all plans: in a first call some were 2 % quicker that never
were again."""

BASE_BYTES = 256
"""What the bases of a copy agree with the caller's modulo."""

T = TypeVar("T", bound=Hashable)

Launch = Callable[[int], None]


def copies(x: Any, y: Any) -> list[tuple[Any, Any]]:
    """Tensors to stand for `x` and `y`, as many as it takes; themselves if large, or if memory is short."""
    one = 2 * x.numel() * x.element_size()
    device = call(cuda.cudaGetDevice())
    l2_bytes = call(cuda.cudaDeviceGetAttribute(cuda.cudaDeviceAttr.cudaDevAttrL2CacheSize, device))
    count = max(2, min(-(-CACHES * l2_bytes // max(one, 1)), MOST_SETS))
    if count * one > SPARE_BYTES:
        return [(x, y)]
    try:
        return [(like(x), like(y)) for _ in range(count)]
    except RuntimeError:  # no memory for them
        return [(x, y)]


def like(t: Any) -> Any:
    """A tensor of the shape, strides and alignment of `t`, in memory of its own."""
    size = t.element_size()
    span = 1 + sum((extent - 1) * stride for extent, stride in zip(t.shape, t.stride(), strict=True))
    room = t.new_empty(span + BASE_BYTES // size)
    return room.as_strided(t.shape, t.stride(), (t.data_ptr() - room.data_ptr()) % BASE_BYTES // size)


def timed(
    plans: Sequence[T],
    launches: Callable[[T], list[Launch]],
    variants: Callable[[T], Sequence[T]] = lambda plan: (),
) -> T:
    """The quickest plan by its `launches`, each of which takes a stream; one plan alone is not timed.

    `variants` of a plan run only if it is among the finalists.
    """
    if len(plans) == 1 and not variants(plans[0]):
        return plans[0]
    with Clock() as clock:
        graphs = {plan: clock.recorded(launches(plan)) for plan in plans}

        def time(plan: T) -> float:
            if plan not in graphs:
                graphs[plan] = clock.recorded(launches(plan))
            return clock.milliseconds(graphs[plan])

        return quickest(plans, time, variants)


def quickest(
    plans: Sequence[T],
    time: Callable[[T], float],
    variants: Callable[[T], Sequence[T]] = lambda plan: (),
) -> T:
    """The plan of the least median, or the first that is alike, among the FINALISTS of the first times.

    Or the quickest of the `variants` of the finalists, beyond DOUBT.
    """
    first = {plan: time(plan) for plan in plans}
    best = sorted(plans, key=lambda plan: first[plan])[:FINALISTS]
    others = [variant for plan in best for variant in variants(plan)]
    times: dict[T, list[float]] = {plan: [] for plan in (*best, *others)}
    for _ in range(ROUNDS):
        for plan in times:
            times[plan].append(time(plan))
    medians = {plan: statistics.median(found) for plan, found in times.items()}
    least = min(medians[plan] for plan in best)
    for variant in sorted(others, key=lambda variant: medians[variant])[:1]:
        if DOUBT * medians[variant] < least:
            return variant
    return next(plan for plan in plans if plan in best and medians[plan] <= TIE * least)


class Clock:
    """A stream of its own, to record launches on and to time them."""

    def __enter__(self) -> Clock:
        self.stream = call(cuda.cudaStreamCreateWithFlags(cuda.cudaStreamNonBlocking))
        self.begin, self.end = call(cuda.cudaEventCreate()), call(cuda.cudaEventCreate())
        self.graphs: list[Any] = []
        return self

    def __exit__(self, *_: object) -> None:
        for graph in self.graphs:
            call(cuda.cudaGraphExecDestroy(graph))
        call(cuda.cudaEventDestroy(self.begin))
        call(cuda.cudaEventDestroy(self.end))
        call(cuda.cudaStreamDestroy(self.stream))

    def recorded(self, launches: list[Launch]) -> Any:
        """A graph of the launches. The first runs before, as loading its code cannot be recorded."""
        stream = int(self.stream)
        launches[0](stream)
        call(cuda.cudaStreamSynchronize(self.stream))
        mode = cuda.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
        call(cuda.cudaStreamBeginCapture(self.stream, mode))
        for _ in range(-(-LAUNCHES // len(launches))):
            for launch in launches:
                launch(stream)
        graph = call(cuda.cudaStreamEndCapture(self.stream))
        self.graphs.append(call(cuda.cudaGraphInstantiate(graph, 0)))
        call(cuda.cudaGraphDestroy(graph))
        return self.graphs[-1]

    def milliseconds(self, graph: Any) -> float:
        """The time of a replay that follows another, which leaves the cache as its own launches do."""
        call(cuda.cudaGraphLaunch(graph, self.stream))
        call(cuda.cudaEventRecord(self.begin, self.stream))
        call(cuda.cudaGraphLaunch(graph, self.stream))
        call(cuda.cudaEventRecord(self.end, self.stream))
        call(cuda.cudaEventSynchronize(self.end))
        return float(call(cuda.cudaEventElapsedTime(self.begin, self.end)))


def captured(stream: int) -> bool:
    """Whether a graph is being captured from the stream, so that nothing can be timed."""
    status = call(cuda.cudaStreamIsCapturing(stream))
    return bool(status != cuda.cudaStreamCaptureStatus.cudaStreamCaptureStatusNone)


def call(answer: tuple[Any, ...]) -> Any:
    """The result of a CUDA call; RuntimeError if it failed."""
    status, *results = answer
    if status != cuda.cudaError_t.cudaSuccess:
        raise RuntimeError(f"CUDA: {status.name}")
    return results[0] if results else None
