// Copies of rows that have pads in between: what it costs that the pads must stay as they are.
//
// Source and target have rows of `width` bytes, `pitch` bytes apart, from byte `start` after a multiple of 32
// on. A thread moves a chunk of 16 bytes. Chunks that hold bytes of a pad are stored in one of these ways:
//   0  as a whole, pads too: not what a transpose may do
//   1  an element at a time by the thread that has them
//   2  with the other chunk of their sector, an element a lane: the sector is written once
//   3  the same, out of shared memory, sectors side by side by the lanes of a warp
#include <cstdint>
#include <cuda_runtime.h>

constexpr int THREADS = 256;

template <typename Element, int kind>
__global__ void copy_rows(const uint4 *x, uint4 *y, long long bytes, int start, int width, int pitch) {
  constexpr int each = sizeof(Element), count = 16 / each;
  const long long chunk = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const long long first = 16 * chunk - start;  // of the run, which begins with a row
  const bool mine = first + 16 > 0 && first < bytes;
  uint4 held = {};
  const int in_row = (int)((first % pitch + pitch) % pitch);
  const bool whole = mine && first >= 0 && first + 16 <= bytes && in_row + 16 <= width;
  if (mine) held = x[chunk];
  auto inside = [&](long long from, int row, int k) {
    const int at = (row + each * k) % pitch;
    return from + each * k >= 0 && from + each * k < bytes && at < width;
  };
  const bool other = __shfl_xor_sync(~0u, whole, 1);
  if (mine && (kind == 0 ? first >= 0 && first + 16 <= bytes : whole && (kind == 1 || other))) y[chunk] = held;
  if (kind == 1 || (kind == 0 && (first < 0 || first + 16 > bytes))) {
    if (mine && !whole)
      for (int k = 0; k < count; ++k)
        if (inside(first, in_row, k)) ((Element *)&y[chunk])[k] = ((Element *)&held)[k];
  } else if (kind == 2) {
    const int lane = threadIdx.x % 32, half = lane / count % 2, bit = 8 * each * (lane % count);
    for (unsigned left = __ballot_sync(~0u, !(whole && other)) & 0x55555555; left; left &= left - 1) {
      const int owner = __ffs(left) - 1 + half;
      const int row = __shfl_sync(~0u, in_row, owner);
      const uint64_t low = __shfl_sync(~0u, held.x | (uint64_t)held.y << 32, owner);
      const uint64_t high = __shfl_sync(~0u, held.z | (uint64_t)held.w << 32, owner);
      const long long from = first + 16 * (owner - lane);
      if (lane < 2 * count && from + 16 > 0 && inside(from, row, lane % count))
        ((Element *)&y[chunk + owner - lane])[lane % count] = (Element)((bit < 64 ? low : high) >> (bit & 63));
    }
  }
}

template <typename Element>
__global__ void copy_staged(const uint4 *x, uint4 *y, long long bytes, int start, int width, int pitch) {
  constexpr int each = sizeof(Element), in_sector = 32 / each;
  __shared__ uint4 held[2 * THREADS];
  __shared__ short partial[THREADS];
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  const int begin = blockIdx.x * 2 * THREADS, end = (int)bytes;
  for (int k = 0; k < 2; ++k) {
    const int here = threadIdx.x + k * THREADS, chunk = begin + here, first = 32 * (chunk / 2) - start;
    if (first + 32 <= 0 || first >= end) continue;
    const bool whole = first >= 0 && first + 32 <= end && first % pitch + 32 <= width;
    if (!whole && here % 2 == 0) partial[atomicAdd(&count, 1)] = here / 2;
    held[here] = x[chunk];
    if (whole) y[chunk] = held[here];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < count * in_sector; i += THREADS) {
    const int sector = partial[i / in_sector], k = i % in_sector;
    const int from = 16 * (begin + 2 * sector) - start + each * k;
    if (from >= 0 && from < end && from % pitch < width)
      ((Element *)&y[begin + 2 * sector])[k] = ((Element *)&held[2 * sector])[k];
  }
}

template <typename Element>
static int launch(int kind, const void *x, void *y, long long bytes, int start, int width, int pitch,
                  cudaStream_t stream) {
  const int threads = THREADS;
  const long long chunks = (bytes + start + 31) / 32 * 2;
  const unsigned blocks = (unsigned)((chunks + threads - 1) / threads);
  const auto from = (const uint4 *)x;
  const auto to = (uint4 *)y;
  if (kind == 0) copy_rows<Element, 0><<<blocks, threads, 0, stream>>>(from, to, bytes, start, width, pitch);
  if (kind == 1) copy_rows<Element, 1><<<blocks, threads, 0, stream>>>(from, to, bytes, start, width, pitch);
  if (kind == 2) copy_rows<Element, 2><<<blocks, threads, 0, stream>>>(from, to, bytes, start, width, pitch);
  if (kind == 3) copy_staged<Element><<<(blocks + 1) / 2, threads, 0, stream>>>(from, to, bytes, start, width, pitch);
  return cudaGetLastError();
}

// `x` and `y` lie on multiples of 32; `bytes` from the first of the run to its last, pads in between.
extern "C" int copy(int size, int kind, const void *x, void *y, long long bytes, int start, int width, int pitch,
                    void *stream) {
  const auto on = (cudaStream_t)stream;
  if (size == 1) return launch<uint8_t>(kind, x, y, bytes, start, width, pitch, on);
  if (size == 2) return launch<uint16_t>(kind, x, y, bytes, start, width, pitch, on);
  if (size == 4) return launch<uint32_t>(kind, x, y, bytes, start, width, pitch, on);
  return launch<uint64_t>(kind, x, y, bytes, start, width, pitch, on);
}
