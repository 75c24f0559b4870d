// What the order of its accesses costs a transpose: copies whose reads or writes are runs of a given length, and
// the transpose in tiles, with stores by threads or by bulk copies. BF16, M x N, one row-major matrix each.
//
//     nvcc -arch=sm_90a -O3 -std=c++17 transpose_order.cu -o order && ./order M N ROUNDS
//
// Prints a line for each case: M, N, median microseconds, tenth and ninetieth percentile, name. Launches are
// queued, two after one that is not timed, the cases in random order in each round.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#define OK(e) do { cudaError_t s_ = (e); if (s_) { printf("error %s at %d\n", cudaGetErrorString(s_), __LINE__); exit(1); } } while (0)

constexpr int TILE = 128, THREADS = 256, ELEMENTS = TILE * TILE;

// L2 policy evict_last, as createpolicy.fractional.L2 makes it for fraction 1.
constexpr uint64_t LAST = 0x14F0000000000000ull;

__device__ __forceinline__ uint4 load(const char* p) {
    uint4 v;
    asm volatile("ld.global.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p), "l"(LAST));
    return v;
}
__device__ __forceinline__ void store(char* p, uint4 v) {
    asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ __forceinline__ uint32_t word(const uint4& v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }

// The columns of an 8x8 block of rows.
__device__ __forceinline__ void turn(const uint4 (&r)[8], uint4 (&c)[8]) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        const uint32_t s = j % 2 ? 0x7632 : 0x5410;
        c[j] = make_uint4(__byte_perm(word(r[0], j / 2), word(r[1], j / 2), s), __byte_perm(word(r[2], j / 2), word(r[3], j / 2), s),
                          __byte_perm(word(r[4], j / 2), word(r[5], j / 2), s), __byte_perm(word(r[6], j / 2), word(r[7], j / 2), s));
    }
}

struct Where { int m, n; };

// Tile `t` of tm x tn: 0: along M first; 1: along N first; 2: in strips of `g` tiles along M, along M first.
__device__ __forceinline__ Where place(int t, int tm, int tn, int order, int g) {
    if (order == 0) return {t % tm, t / tm};
    if (order == 1) return {t / tn, t % tn};
    const int s = t / (g * tn), r = t % (g * tn), h = min(g, tm - s * g);
    return {s * g + r % h, r / h};
}

__device__ __forceinline__ void enter() {
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

// The row of a thread's access number i, where so many lanes cover a row.
template <int LANES> __device__ __forceinline__ int row_of(int i, int tid) {
    if constexpr (LANES <= THREADS) return tid / LANES + i * (THREADS / LANES);
    else return i / (LANES / THREADS);
}

// 32 KB a block. Reads tiles of RN columns, along M first (RN 0: what lies in one piece); writes tiles of WM columns
// of y in the given order (WM 0: one piece).
template <int RN, int WM>
__global__ void __launch_bounds__(THREADS, 3) pass(const char* x, char* y, int m, int n, int order, int g) {
    enter();
    const int tid = threadIdx.x, t = blockIdx.x;
    uint4 held[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int v = i * THREADS + tid;
        if constexpr (RN == 0) held[i] = load(x + size_t(t) * ELEMENTS * 2 + v * 16);
        else {
            constexpr int RM = ELEMENTS / RN, LANES = RN / 8;
            const Where w = place(t, m / RM, n / RN, 0, 1);
            held[i] = load(x + (size_t(w.m) * RM + row_of<LANES>(i, tid)) * 2 * n + size_t(w.n) * RN * 2 + v % LANES * 16);
        }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int v = i * THREADS + tid;
        if constexpr (WM == 0) store(y + size_t(t) * ELEMENTS * 2 + v * 16, held[i]);
        else {
            constexpr int WN = ELEMENTS / WM, LANES = WM / 8;
            const Where w = place(t, m / WM, n / WN, order, g);
            store(y + (size_t(w.n) * WN + row_of<LANES>(i, tid)) * 2 * m + size_t(w.m) * WM * 2 + v % LANES * 16, held[i]);
        }
    }
}

// The transpose in tiles of 128 x 128, along M first. BULK: a row of the tile by one instruction.
template <bool BULK> __global__ void __launch_bounds__(THREADS, 3) transpose(const char* x, char* y, int m, int n, int order, int g) {
    constexpr int NB = TILE / 8, MB = TILE / 8, PITCH = TILE * 2 + 16;
    extern __shared__ __align__(1024) char smem[];
    enter();
    const Where w = place(blockIdx.x, m / TILE, n / TILE, order, g);
    const int tid = threadIdx.x, n8 = tid % NB, m8 = tid / NB, chunk = tid % MB, first = tid / MB;
    const size_t px = 2 * size_t(n), py = 2 * size_t(m);
    const char* from = x + (size_t(w.m) * TILE + 8 * m8) * px + size_t(w.n) * TILE * 2 + n8 * 16;
    char* to = y + size_t(w.n) * TILE * py + size_t(w.m) * TILE * 2;
    uint4 rows[8], columns[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) rows[i] = load(from + i * px);
    turn(rows, columns);
    if constexpr (BULK) {
#pragma unroll
        for (int j = 0; j < 8; ++j) *reinterpret_cast<uint4*>(smem + (j * NB + n8) * PITCH + m8 * 16) = columns[j];
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (tid < TILE) {
            const uint32_t row = uint32_t(__cvta_generic_to_shared(smem + tid * PITCH));
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + (tid % NB * 8 + tid / NB) * py), "r"(row), "r"(TILE * 2) : "memory");
        }
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    } else {
        uint4* slots = reinterpret_cast<uint4*>(smem);
#pragma unroll
        for (int j = 0; j < 8; ++j) slots[(m8 / 8 * 8 + j) * NB * 8 + n8 * 8 + ((m8 ^ n8) & 7)] = columns[j];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const int r = first + i * NB, b = r / 8;
            columns[i] = slots[(chunk / 8 * 8 + r % 8) * NB * 8 + b * 8 + ((chunk ^ b) & 7)];
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) store(to + (first + i * NB) * py + chunk * 16, columns[i]);
    }
}

__global__ void __launch_bounds__(128) elementwise(const char* x, char* y, int, int, int, int) {
    const size_t at = (size_t(blockIdx.x) * 128 + threadIdx.x) * 16;
    const uint4 v = *reinterpret_cast<const uint4*>(x + at);
    *reinterpret_cast<uint4*>(y + at) = make_uint4(~v.x, ~v.y, ~v.z, ~v.w);
}
__global__ void fill(uint32_t* x, size_t count, uint32_t seed) {
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
        uint32_t h = uint32_t(i) * 2654435761u ^ seed;
        h ^= h >> 15; h *= 2246822519u; h ^= h >> 13;
        x[i] = h;
    }
}

using Kernel = void (*)(const char*, char*, int, int, int, int);
struct Case { std::string name; Kernel kernel; int smem = 0, order = 0, g = 1, carveout = 40; };

static void launch(const Case& c, const char* x, char* y, int m, int n, cudaStream_t stream) {
    const size_t bytes = size_t(m) * n * 2;
    if (!c.kernel) { OK(cudaMemcpyAsync(y, x, bytes, cudaMemcpyDeviceToDevice, stream)); return; }
    if (c.kernel == elementwise) { elementwise<<<unsigned(bytes / 2048), 128, 0, stream>>>(x, y, m, n, 0, 0); return; }
    OK(cudaFuncSetAttribute((const void*)c.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, c.smem));
    OK(cudaFuncSetAttribute((const void*)c.kernel, cudaFuncAttributePreferredSharedMemoryCarveout, c.carveout));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(unsigned(bytes / 2 / ELEMENTS));
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = c.smem;
    config.stream = stream;
    cudaLaunchAttribute early;
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = 1;
    OK(cudaLaunchKernelEx(&config, c.kernel, x, y, m, n, c.order, c.g));
}

template <int... RUNS> static void reads(std::vector<Case>& cases) {
    (cases.push_back({"read " + std::to_string(2 * RUNS) + " write all", pass<RUNS, 0>}), ...);
    (cases.push_back({"read " + std::to_string(2 * RUNS) + " write tiles", pass<RUNS, TILE>}), ...);
}
template <int... RUNS> static void writes(std::vector<Case>& cases) {
    (cases.push_back({"read all write " + std::to_string(2 * RUNS), pass<0, RUNS>, 0, 1}), ...);
}

int main(int argc, char** argv) {
    if (argc != 4) { printf("expected M N ROUNDS\n"); return 2; }
    const int m = atoi(argv[1]), n = atoi(argv[2]), rounds = atoi(argv[3]);
    const size_t bytes = size_t(m) * n * 2;
    std::vector<Case> cases = {
        {"copy", nullptr}, {"elementwise", elementwise}, {"read all write all", pass<0, 0>}, {"read all write tiles", pass<0, TILE>},
        {"transpose", transpose<false>, 2 * ELEMENTS, 0, 1, 44}, {"transpose, bulk", transpose<true>, 2 * ELEMENTS + 16 * TILE, 0, 1, 47},
    };
    reads<64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384>(cases);
    writes<64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384>(cases);
    for (int g : {4, 8, 16, 32, 64, 128}) cases.push_back({"read all write strips of " + std::to_string(2 * TILE * g), pass<0, TILE>, 0, 2, g});
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    char *x[2], *y[2];
    for (int i = 0; i < 2; ++i) {
        OK(cudaMalloc(&x[i], bytes));
        OK(cudaMalloc(&y[i], bytes));
        fill<<<1024, 256, 0, stream>>>((uint32_t*)x[i], bytes / 4, i);
        fill<<<1024, 256, 0, stream>>>((uint32_t*)y[i], bytes / 4, i + 9);
    }
    for (int i = 0; i < 300; ++i) launch(cases[1], x[0], y[0], m, n, stream);
    OK(cudaStreamSynchronize(stream));
    const size_t count = cases.size();
    std::vector<std::vector<float>> us(count);
    std::vector<cudaEvent_t> begin(count), end(count);
    std::vector<int> turns(count);
    for (size_t i = 0; i < count; ++i) { OK(cudaEventCreate(&begin[i])); OK(cudaEventCreate(&end[i])); turns[i] = int(i); }
    std::mt19937 random(5);
    for (int r = 0; r <= rounds; ++r) {
        std::shuffle(turns.begin(), turns.end(), random);
        for (int i : turns) {
            launch(cases[i], x[1], y[1], m, n, stream);
            OK(cudaEventRecord(begin[i], stream));
            launch(cases[i], x[0], y[0], m, n, stream);
            launch(cases[i], x[1], y[1], m, n, stream);
            OK(cudaEventRecord(end[i], stream));
        }
        OK(cudaStreamSynchronize(stream));
        for (int i : turns) {
            float ms;
            OK(cudaEventElapsedTime(&ms, begin[i], end[i]));
            if (r) us[i].push_back(500 * ms);
        }
    }
    OK(cudaGetLastError());
    for (size_t i = 0; i < count; ++i) {
        auto& v = us[i];
        std::sort(v.begin(), v.end());
        printf("%d %d %.2f %.2f %.2f %s\n", m, n, v[v.size() / 2], v[v.size() / 10], v[v.size() * 9 / 10], cases[i].name.c_str());
    }
}
