"""A store of a number to a whole slice, in the loop over it that helion's test had on the day of the fix."""

import sys

import helion
import helion.language as hl
import torch


@helion.kernel(config=helion.Config(reduction_loops=[32]))
def filled(src: torch.Tensor, dst: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    columns = src.shape[1]
    for _ in hl.grid(columns):
        dst[:, :] = 1.0
        src[:, :] = dst[:, :]
    return src, dst


def full_slice():
    filled(*(torch.zeros(1, 128, device="cuda") for _ in range(2)))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
