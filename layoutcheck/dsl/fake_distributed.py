"""One rank of a distributed program, without the others: a launcher's variables, groups that send nothing.

Only for processes of a traced run that launch nothing. A script for `torchrun` gets the variables of one
process of one where it asks for them as it must be started; one that looks whether they are there is started
without. Collectives are those of torch's "fake" backend, which leaves tensors as they are; what symmetric
memory shows of other ranks is as large as this rank's own, and nobody may read it.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from typing import Any

from layoutcheck.dsl.imports import when_imported

_LAUNCHED = {  # torchrun's, of one process (https://docs.pytorch.org/docs/stable/elastic/run.html)
    "RANK": "0", "LOCAL_RANK": "0", "GROUP_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
}  # fmt: skip
_SIGNALS = 1024  # words of a signal pad


def install() -> None:
    """Be one rank of one, as soon as somebody asks."""
    _variables(type(os.environ))
    when_imported("torch.distributed", _groups)
    when_imported("torch.distributed._symmetric_memory", _symmetric)


def _variables(environment: Any) -> None:
    """Give a launcher's variables to who cannot do without (`os.environ["RANK"]`)."""
    get = environment.__getitem__

    def __getitem__(self: Any, name: str) -> Any:  # noqa: N807
        try:
            return get(self, name)
        except KeyError:
            if name not in _LAUNCHED or _may_be_missing(sys._getframe(1)):
                raise
            return _LAUNCHED[name]

    environment.__getitem__ = __getitem__


def _may_be_missing(frame: Any) -> bool:
    """Whether a variable is asked for by `get`, `in` or `setdefault`, which the mapping's base class has."""
    while frame.f_code.co_name == "__getitem__":  # somebody listens in
        frame = frame.f_back
    return str(frame.f_code.co_filename).endswith(("abc>", "abc.py"))


def _groups(module: Any) -> None:
    """Every process group is of the fake backend; the program may be any rank of any number."""
    begin, new = module.init_process_group, module.new_group
    signature = inspect.signature(begin)

    def init_process_group(*args: Any, **named: Any) -> None:
        given = signature.bind(*args, **named).arguments
        store = importlib.import_module("torch.testing._internal.distributed.fake_pg").FakeStore()
        rank, size = (
            given[name] if given.get(name, -1) >= 0 else int(os.environ[variable])
            for name, variable in (("rank", "RANK"), ("world_size", "WORLD_SIZE"))
        )
        begin("fake", store=store, rank=rank, world_size=size)

    def new_group(*args: Any, **named: Any) -> Any:
        given = inspect.signature(new).bind(*args, **named).arguments
        return new(**{key: value for key, value in given.items() if key not in ("backend", "device_id")})

    for owner in (module, module.distributed_c10d):
        owner.init_process_group, owner.new_group = init_process_group, new_group
        owner.is_nccl_available = lambda: True


class _Handle:
    """Symmetric memory of a group: each rank's buffer is one of its own, at the address of this rank's."""

    def __init__(self, tensor: Any, group: Any = None) -> None:
        torch: Any = importlib.import_module("torch")
        distributed: Any = torch.distributed
        started = distributed.is_initialized()
        self.rank = distributed.get_rank() if started else 0
        self.world_size = distributed.get_world_size() if started else 1
        self.buffer_size, self.signal_pad_size = tensor.numel() * tensor.element_size(), 4 * _SIGNALS
        signals = torch.zeros(_SIGNALS, dtype=torch.int32)
        self._torch, self._kept, self._group = torch, (tensor, signals), group
        self.multicast_ptr = self.buffer_ptrs_dev = tensor.data_ptr()
        self.signal_pad_ptrs_dev = signals.data_ptr()
        self.buffer_ptrs = [tensor.data_ptr()] * self.world_size
        self.signal_pad_ptrs = [signals.data_ptr()] * self.world_size

    def get_buffer(self, _rank: int, sizes: Any, dtype: Any, *_offset: Any, **_named: Any) -> Any:
        """A tensor in a rank's buffer."""
        return self._torch.empty(sizes, dtype=dtype)

    get_remote_tensor = get_buffer

    def get_signal_pad(self, _rank: int, sizes: Any = (), dtype: Any = None, *_offset: Any) -> Any:
        """The words by which a rank is told."""
        return self._torch.zeros(sizes or (_SIGNALS,), dtype=dtype or self._torch.int32)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_args, **_named: None


def _symmetric(module: Any) -> None:
    torch: Any = importlib.import_module("torch")
    module.empty = lambda *size, **named: torch.empty(*size, **named)
    module.rendezvous = _Handle
    module.get_symm_mem_workspace = lambda _group, min_size: _Handle(torch.empty(min_size, dtype=torch.uint8))
    for name in ("set_backend", "enable_symm_mem_for_group", "set_signal_pad_size"):
        if hasattr(module, name):
            setattr(module, name, lambda *_args, **_named: None)
