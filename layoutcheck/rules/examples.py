"""Copies that are right, as arguments of `layoutcheck.check`: examples of rules change one thing in them."""

from __future__ import annotations

from typing import Any

TMA: dict[str, Any] = {
    "src": '!cute.memref<bf16, gmem, align<16>, "(256,256):(256,1)">',
    "dst": '!cute.memref<bf16, smem, align<1024>, "(64,64):(64,1)">',
    "atom": "tma_load",
}
IM2COL: dict[str, Any] = {
    "src": '!cute.memref<bf16, gmem, align<16>, "((40,12,6,3),64):((64,2560,30720,184320),1)">',
    "dst": '!cute.memref<bf16, smem, align<1024>, S<3,4,3>, "(64,64):(64,1)">',
    "atom": "im2col_tma_load",
}
CP_ASYNC: dict[str, Any] = {
    "src": '!cute.memref<bf16, gmem, align<16>, "(8):(1)">',
    "dst": '!cute.memref<bf16, smem, align<128>, "(8):(1)">',
    "atom": "cp.async",
    "bits": 128,
}
BULK: dict[str, Any] = {
    "src": '!cute.memref<bf16, gmem, align<16>, "(64):(1)">',
    "dst": '!cute.memref<bf16, smem, align<128>, "(64):(1)">',
    "atom": "bulk.g2s",
}
