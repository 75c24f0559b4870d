// Bytes that an SM keeps in flight: loads of 16 bytes by 1024 threads, `U` of them at once in each thread, with
// shared memory taking a given part of the 256 KB that L1 and it share.
//
//     nvcc -arch=sm_90a -O3 in_flight.cu -o in_flight && ./in_flight
//
// Prints a line for each case: what loads, bytes of a row that one line's worth of lanes reads, loads at once,
// KB of shared memory, MB of the source, then GB/s.
#include <cstdint>
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

__device__ void fetch(uint32_t to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}

// A warp reads rows of `RUN` bytes, one at the start of each `PITCH` bytes.
template <int U, int RUN, bool ASYNC>
__global__ void __launch_bounds__(1024) read(const char* from, size_t bytes, int* out) {
    extern __shared__ char smem[];
    constexpr int LANES = RUN / 16, PITCH = RUN < 128 ? 128 : RUN;
    const int lane = threadIdx.x % 32;
    const size_t warps = size_t(gridDim.x) * blockDim.x / 32;
    const size_t warp = (size_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    constexpr size_t step = size_t(PITCH) * (32 / LANES);
    const char* mine = from + lane / LANES * PITCH + lane % LANES * 16;
    int total = 0;
    uint32_t to = uint32_t(__cvta_generic_to_shared(smem)) + threadIdx.x * 16;
    for (size_t at = warp * U * step; at + U * step <= bytes; at += warps * U * step) {
        if constexpr (ASYNC) {
#pragma unroll
            for (int u = 0; u < U; ++u) fetch(to + (u % 2) * 16384, mine + at + u * step);
            asm volatile("cp.async.wait_all;");
        } else {
            int4 held[U];
#pragma unroll
            for (int u = 0; u < U; ++u) held[u] = __ldg(reinterpret_cast<const int4*>(mine + at + u * step));
#pragma unroll
            for (int u = 0; u < U; ++u) total ^= held[u].x ^ held[u].y ^ held[u].z ^ held[u].w;
        }
    }
    if (total == 1234567891) out[0] = total + smem[threadIdx.x];
}

template <int U, int RUN, bool ASYNC>
void one(const char* from, int* out, int kb, size_t mb) {
    const auto kernel = read<U, RUN, ASYNC>;
    int sms = 0;
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    const int blocks = 2, each = kb * 1024 / blocks - 1024;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, each);
    cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, (kb * 100 + 227) / 228);
    const size_t bytes = mb << 20;
    std::vector<float> times;
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    const int launches = mb > 100 ? 1 : 20;
    for (int round = 0; round < 7; ++round) {
        kernel<<<sms * blocks, 1024, each>>>(from, bytes, out);
        cudaEventRecord(begin);
        for (int n = 0; n < launches; ++n) kernel<<<sms * blocks, 1024, each>>>(from, bytes, out);
        cudaEventRecord(end);
        cudaEventSynchronize(end);
        float ms = 0;
        cudaEventElapsedTime(&ms, begin, end);
        times.push_back(ms / launches);
    }
    std::sort(times.begin(), times.end());
    const double used = double(bytes) * (RUN < 128 ? RUN / 128.0 : 1.0);
    printf("%s %d %d %d %zu %.1f %s\n", ASYNC ? "cp.async.cg" : "ld.global", RUN, U, kb, mb, used / times[3] / 1e6,
           cudaGetErrorString(cudaGetLastError()));
}

template <int RUN, bool ASYNC>
void all(const char* from, int* out) {
    for (size_t mb : {24, 1024})
        for (int kb : {66, 100, 132, 164, 196, 226}) {
            one<1, RUN, ASYNC>(from, out, kb, mb);
            one<2, RUN, ASYNC>(from, out, kb, mb);
            if constexpr (!ASYNC) one<4, RUN, ASYNC>(from, out, kb, mb);  // two lie in shared memory
        }
}

int main() {
    char* from;
    int* out;
    cudaMalloc(&from, size_t(1) << 30);
    cudaMalloc(&out, 4);
    cudaMemset(from, 1, size_t(1) << 30);
    all<512, false>(from, out);
    all<64, false>(from, out);
    all<32, false>(from, out);
    all<512, true>(from, out);
    all<64, true>(from, out);
    all<32, true>(from, out);
}
