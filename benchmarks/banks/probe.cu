// One warp, one memory instruction, at addresses given by the host: the smallest kernel a counter can be read of.
//
//   probe CASES            one launch a case, in order (profile this with ncu)
//   probe --time CASES     the same instructions back to back; prints cycles an instruction for each case
//
// CASES is binary: records of 2 + 32 + 32 little-endian uint32: kind, lane mask, then each lane's offset into
// shared memory and into a global buffer. Addresses arrive as kernel parameters (constant bank), so the kernel
// makes no other access to shared or global memory.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

constexpr int SHARED_BYTES = 48 * 1024;
constexpr size_t GLOBAL_BYTES = size_t(1) << 24;

struct Case {
  uint32_t kind, mask, shared[32], global[32];
};

#define CHECK(call)                                                                      \
  do {                                                                                   \
    cudaError_t e = (call);                                                              \
    if (e != cudaSuccess) {                                                              \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e));     \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

enum Kind {
  LDS8, LDS16, LDS32, LDS64, LDS128, STS8, STS16, STS32, STS64, STS128,
  LDSM1, LDSM2, LDSM4, LDSMT1, LDSMT2, LDSMT4, STSM1, STSM2, STSM4, STSMT1, STSMT2, STSMT4,
  CPA4, CPA8, CPA16, CPG16, LDG8, LDG16, LDG32, LDG64, LDG128, STG8, STG16, STG32, STG64, STG128, KINDS
};

#define LOAD1(TEXT, R, T)                                                                \
  { T v; asm volatile(TEXT : "=" R(v) : ADDRESS); sink ^= uint32_t(v); }
#define LOAD2(TEXT)                                                                      \
  { uint32_t a, b; asm volatile(TEXT : "=r"(a), "=r"(b) : ADDRESS); sink ^= a ^ b; }
#define LOAD4(TEXT)                                                                      \
  { uint32_t a, b, c, d;                                                                 \
    asm volatile(TEXT : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : ADDRESS); sink ^= a ^ b ^ c ^ d; }
#define STORE1(TEXT, R, T) asm volatile(TEXT ::ADDRESS, R(T(value)) : "memory")
#define STORE2(TEXT) asm volatile(TEXT ::ADDRESS, "r"(value), "r"(value + 1) : "memory")
#define STORE4(TEXT)                                                                     \
  asm volatile(TEXT ::ADDRESS, "r"(value), "r"(value + 1), "r"(value + 2), "r"(value + 3) : "memory")
#define MATRIX(X) "ldmatrix.sync.aligned.m8n8.x" X ".shared.b16 "
#define MATRIXT(X) "ldmatrix.sync.aligned.m8n8.x" X ".trans.shared.b16 "
#define SMATRIX(X) "stmatrix.sync.aligned.m8n8.x" X ".shared.b16 "
#define SMATRIXT(X) "stmatrix.sync.aligned.m8n8.x" X ".trans.shared.b16 "

template <int K>
__device__ __forceinline__ uint32_t instruction(uint32_t s, char* g, uint32_t value) {
  uint32_t sink = 0;
#define ADDRESS "r"(s)
  if constexpr (K == LDS8) LOAD1("ld.shared.u8 %0,[%1];", "h", uint16_t)
  if constexpr (K == LDS16) LOAD1("ld.shared.u16 %0,[%1];", "h", uint16_t)
  if constexpr (K == LDS32) LOAD1("ld.shared.b32 %0,[%1];", "r", uint32_t)
  if constexpr (K == LDS64) LOAD2("ld.shared.v2.b32 {%0,%1},[%2];")
  if constexpr (K == LDS128) LOAD4("ld.shared.v4.b32 {%0,%1,%2,%3},[%4];")
  if constexpr (K == STS8) STORE1("st.shared.u8 [%0],%1;", "h", uint16_t);
  if constexpr (K == STS16) STORE1("st.shared.u16 [%0],%1;", "h", uint16_t);
  if constexpr (K == STS32) STORE1("st.shared.b32 [%0],%1;", "r", uint32_t);
  if constexpr (K == STS64) STORE2("st.shared.v2.b32 [%0],{%1,%2};");
  if constexpr (K == STS128) STORE4("st.shared.v4.b32 [%0],{%1,%2,%3,%4};");
  if constexpr (K == LDSM1) LOAD1(MATRIX("1") "{%0},[%1];", "r", uint32_t)
  if constexpr (K == LDSM2) LOAD2(MATRIX("2") "{%0,%1},[%2];")
  if constexpr (K == LDSM4) LOAD4(MATRIX("4") "{%0,%1,%2,%3},[%4];")
  if constexpr (K == LDSMT1) LOAD1(MATRIXT("1") "{%0},[%1];", "r", uint32_t)
  if constexpr (K == LDSMT2) LOAD2(MATRIXT("2") "{%0,%1},[%2];")
  if constexpr (K == LDSMT4) LOAD4(MATRIXT("4") "{%0,%1,%2,%3},[%4];")
  if constexpr (K == STSM1) STORE1(SMATRIX("1") "[%0],{%1};", "r", uint32_t);
  if constexpr (K == STSM2) STORE2(SMATRIX("2") "[%0],{%1,%2};");
  if constexpr (K == STSM4) STORE4(SMATRIX("4") "[%0],{%1,%2,%3,%4};");
  if constexpr (K == STSMT1) STORE1(SMATRIXT("1") "[%0],{%1};", "r", uint32_t);
  if constexpr (K == STSMT2) STORE2(SMATRIXT("2") "[%0],{%1,%2};");
  if constexpr (K == STSMT4) STORE4(SMATRIXT("4") "[%0],{%1,%2,%3,%4};");
  if constexpr (K == CPA4) asm volatile("cp.async.ca.shared.global [%0],[%1],4;" ::"r"(s), "l"(g) : "memory");
  if constexpr (K == CPA8) asm volatile("cp.async.ca.shared.global [%0],[%1],8;" ::"r"(s), "l"(g) : "memory");
  if constexpr (K == CPA16) asm volatile("cp.async.ca.shared.global [%0],[%1],16;" ::"r"(s), "l"(g) : "memory");
  if constexpr (K == CPG16) asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(s), "l"(g) : "memory");
#undef ADDRESS
#define ADDRESS "l"(g)
  if constexpr (K == LDG8) LOAD1("ld.global.u8 %0,[%1];", "h", uint16_t)
  if constexpr (K == LDG16) LOAD1("ld.global.u16 %0,[%1];", "h", uint16_t)
  if constexpr (K == LDG32) LOAD1("ld.global.b32 %0,[%1];", "r", uint32_t)
  if constexpr (K == LDG64) LOAD2("ld.global.v2.b32 {%0,%1},[%2];")
  if constexpr (K == LDG128) LOAD4("ld.global.v4.b32 {%0,%1,%2,%3},[%4];")
  if constexpr (K == STG8) STORE1("st.global.u8 [%0],%1;", "h", uint16_t);
  if constexpr (K == STG16) STORE1("st.global.u16 [%0],%1;", "h", uint16_t);
  if constexpr (K == STG32) STORE1("st.global.b32 [%0],%1;", "r", uint32_t);
  if constexpr (K == STG64) STORE2("st.global.v2.b32 [%0],{%1,%2};");
  if constexpr (K == STG128) STORE4("st.global.v4.b32 [%0],{%1,%2,%3,%4};");
#undef ADDRESS
  return sink;
}

__device__ __forceinline__ uint32_t shared_base() {
  extern __shared__ __align__(1024) char memory[];
  return uint32_t(__cvta_generic_to_shared(memory));
}

// `never` is a value no load returns; storing the sink under that condition keeps the loads alive.
template <int K>
__global__ void __launch_bounds__(32) probe(const __grid_constant__ Case c, char* buffer, uint32_t never) {
  const int lane = threadIdx.x;
  const uint32_t s = shared_base() + c.shared[lane];
  char* g = buffer + c.global[lane];
  uint32_t sink = 0;
  if (c.mask == 0xffffffffu) {
    sink = instruction<K>(s, g, lane);
  } else if ((c.mask >> lane) & 1) {
    sink = instruction<K>(s, g, lane);
  }
  if constexpr (K >= CPA4 && K <= CPG16) asm volatile("cp.async.wait_all;" ::: "memory");
  if (sink == never) *reinterpret_cast<uint32_t*>(buffer + 4 * lane) = sink;
}

constexpr int REPEATS = 64;

template <int K>
__global__ void timed(const __grid_constant__ Case c, char* buffer, uint32_t never, long long* cycles) {
  const int lane = threadIdx.x % 32;
  const uint32_t s = shared_base() + c.shared[lane];
  char* g = buffer + c.global[lane];
  uint32_t sink = 0;
  for (int round = 0; round < 2; ++round) {  // the first round warms the caches
    __syncthreads();
    const long long start = clock64();
#pragma unroll 16
    for (int i = 0; i < REPEATS; ++i) {
      if (c.mask == 0xffffffffu) sink ^= instruction<K>(s, g, lane);
    }
    if constexpr (K >= CPA4 && K <= CPG16) asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) *cycles = clock64() - start;
  }
  if (sink == never) *reinterpret_cast<uint32_t*>(buffer + 4 * lane) = sink;
}

using Probe = void (*)(const Case, char*, uint32_t);
using Timed = void (*)(const Case, char*, uint32_t, long long*);

template <int... K>
struct Table {
  Probe probes[sizeof...(K)] = {probe<K>...};
  Timed timers[sizeof...(K)] = {timed<K>...};
};

template <int N, int... K>
struct Build : Build<N - 1, N - 1, K...> {};
template <int... K>
struct Build<0, K...> {
  static Table<K...> table() { return {}; }
};

int main(int count, char** words) {
  const bool time = count == 3 && std::strcmp(words[1], "--time") == 0;
  std::FILE* file = std::fopen(words[count - 1], "rb");
  if (!file) return 2;
  std::vector<Case> cases;
  for (Case c; std::fread(&c, sizeof c, 1, file) == 1;) cases.push_back(c);
  char* buffer;
  long long* cycles;
  CHECK(cudaMalloc(&buffer, GLOBAL_BYTES));
  CHECK(cudaMalloc(&cycles, sizeof *cycles));
  CHECK(cudaMemset(buffer, 0, GLOBAL_BYTES));
  const auto table = Build<KINDS>::table();
  for (const Case& c : cases) {
    if (c.kind >= KINDS) return 3;
    if (!time) {
      table.probes[c.kind]<<<1, 32, SHARED_BYTES>>>(c, buffer, 0xdeadbeefu);
    } else {
      for (int warps : {1, 8}) {
        table.timers[c.kind]<<<1, 32 * warps, SHARED_BYTES>>>(c, buffer, 0xdeadbeefu, cycles);
        long long taken;
        CHECK(cudaMemcpy(&taken, cycles, sizeof taken, cudaMemcpyDeviceToHost));
        std::printf("%.3f%c", double(taken) / (REPEATS * warps), warps == 8 ? '\n' : ' ');
      }
    }
    CHECK(cudaGetLastError());
  }
  CHECK(cudaDeviceSynchronize());
  return 0;
}
