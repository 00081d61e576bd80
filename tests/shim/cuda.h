// Runs CUDA kernels on the CPU. It implements the part of CUDA that the kernels of lumaflow use, and detects errors
// that a GPU tolerates.
//
// Each thread of a block is a fiber; blocks run one after the other. The order of blocks, and of threads
// between two barriers, is shuffled by a seed. Shared memory is filled with garbage before each block. A
// barrier that not all threads reach, or reach on different lines, is an error. Not detected: data races inside a
// barrier interval, and the rounding of approximate functions of a GPU.
#pragma once
#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <ucontext.h>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#else
inline void __sanitizer_start_switch_fiber(void **, const void *, std::size_t) {}
inline void __sanitizer_finish_switch_fiber(void *, const void **, std::size_t *) {}
#endif

#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __shared__ __attribute__((section("block_shared")))

struct uint3 {
    unsigned x, y, z;
};
struct alignas(2) uchar2 {
    unsigned char x, y;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
inline uchar2 make_uchar2(unsigned char x, unsigned char y) { return {x, y}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

extern "C" char __start_block_shared[] __attribute__((weak)), __stop_block_shared[] __attribute__((weak));

namespace shim {

constexpr std::size_t STACK_BYTES = 128 * 1024;
constexpr int WARP = 32;

enum class State { ready, at_block_barrier, at_warp_barrier, done };

struct Fiber {
    std::unique_ptr<char[]> stack{new char[STACK_BYTES]};
    std::jmp_buf registers;
    bool started = false;
    void *fake_stack = nullptr;
    uint3 thread{};
    int lane = 0;
    std::uint64_t *exchange = nullptr; // 32 values, one a lane of the warp
    State state = State::done;
    int line = 0;
};

inline std::vector<Fiber> fibers;
inline std::vector<std::uint64_t> exchanges;
inline Fiber *current;
inline uint3 block_index, block_size, grid_size;
inline std::function<void()> body;
inline std::jmp_buf scheduler;
inline const void *scheduler_stack;
inline std::size_t scheduler_stack_bytes;
inline char message[256];

inline void suspend(State state, int line) {
    Fiber &fiber = *current;
    fiber.state = state;
    fiber.line = line;
    __sanitizer_start_switch_fiber(&fiber.fake_stack, scheduler_stack, scheduler_stack_bytes);
    if (_setjmp(fiber.registers) == 0)
        _longjmp(scheduler, 1);
    __sanitizer_finish_switch_fiber(current->fake_stack, nullptr, nullptr);
}

// A fiber runs one thread of each block, one block after another.
inline void run_fiber() {
    __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_stack_bytes);
    for (;;) {
        body();
        suspend(State::done, 0);
    }
}

inline void start() {
    static ucontext_t context; // never resumed after run_fiber()
    getcontext(&context);
    context.uc_stack.ss_sp = current->stack.get();
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_link = nullptr;
    makecontext(&context, run_fiber, 0);
    current->started = true;
    setcontext(&context);
}

inline void resume(Fiber &fiber) {
    void *fake_stack = nullptr;
    current = &fiber;
    __sanitizer_start_switch_fiber(&fake_stack, fiber.stack.get(), STACK_BYTES);
    if (_setjmp(scheduler) == 0) {
        if (!fiber.started)
            start();
        _longjmp(fiber.registers, 1);
    }
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}

__attribute__((no_sanitize("address"))) inline void poison_shared(unsigned char garbage) {
    for (volatile char *at = __start_block_shared; at < __stop_block_shared; ++at)
        *at = static_cast<char>(garbage);
}

inline std::size_t count_in(State state, std::size_t first, std::size_t last) {
    return std::count_if(&fibers[first], &fibers[last - 1] + 1,
                         [=](const Fiber &f) { return f.state == state; });
}

// Release fibers first..last-1 from a barrier. Returns false if not all of them wait at the same barrier.
inline bool release(State barrier, std::size_t first, std::size_t last) {
    if (count_in(barrier, first, last) != last - first)
        return false;
    for (std::size_t i = first; i < last; ++i) {
        if (fibers[i].line != fibers[first].line)
            return false;
        fibers[i].state = State::ready;
    }
    return true;
}

inline bool release_any(std::size_t threads) {
    if (release(State::at_block_barrier, 0, threads))
        return true;
    bool any = false;
    for (std::size_t first = 0; first < threads; first += WARP)
        any |= release(State::at_warp_barrier, first, std::min(first + WARP, threads));
    return any;
}

inline bool run_block(std::size_t threads, std::mt19937 &random) {
    std::vector<std::size_t> order(threads);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i : order)
        fibers[i].state = State::ready;
    do {
        std::shuffle(order.begin(), order.end(), random);
        for (std::size_t i : order)
            if (fibers[i].state == State::ready)
                resume(fibers[i]);
        if (count_in(State::done, 0, threads) == threads)
            return true;
    } while (release_any(threads));
    const Fiber &waiting =
        *std::find_if(fibers.begin(), fibers.end(), [](const Fiber &f) { return f.state != State::done; });
    std::snprintf(
        message, sizeof message,
        "deadlock in block (%u, %u, %u): of %zu threads %zu wait for the block, %zu for their warp and "
        "%zu have ended; one waits on line %d",
        block_index.x, block_index.y, block_index.z, threads, count_in(State::at_block_barrier, 0, threads),
        count_in(State::at_warp_barrier, 0, threads), count_in(State::done, 0, threads), waiting.line);
    return false;
}

inline void make_fibers(std::size_t threads) {
    if (fibers.size() < threads)
        fibers = std::vector<Fiber>(threads);
    exchanges.assign((threads + WARP - 1) / WARP * WARP, 0);
    for (std::size_t i = 0; i < threads; ++i) {
        const unsigned index = static_cast<unsigned>(i);
        fibers[i].thread = {index % block_size.x, index / block_size.x % block_size.y,
                            index / block_size.x / block_size.y};
        fibers[i].lane = static_cast<int>(i % WARP);
        fibers[i].exchange = &exchanges[i / WARP * WARP];
    }
}

// Run `body` in each thread of each block. Returns null, or an error text.
inline const char *run_grid(const uint3 &grid, const uint3 &block, unsigned seed) {
    grid_size = grid;
    block_size = block;
    const std::size_t threads = static_cast<std::size_t>(block.x) * block.y * block.z;
    make_fibers(threads);
    std::mt19937 random(seed);
    std::vector<unsigned> order(static_cast<std::size_t>(grid.x) * grid.y * grid.z);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
    for (unsigned i : order) {
        block_index = {i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y};
        poison_shared(static_cast<unsigned char>(random()));
        if (!run_block(threads, random))
            return message;
    }
    return nullptr;
}

template <class... Args, std::size_t... I>
const char *launch(void (*kernel)(Args...), std::index_sequence<I...>, void *const *args,
                   const std::size_t *sizes, std::size_t count, const uint3 &grid, const uint3 &block,
                   unsigned seed) {
    const std::size_t wanted[] = {sizeof(Args)...};
    if (count != sizeof...(Args))
        return "the number of arguments differs from the kernel's";
    for (std::size_t i = 0; i < count; ++i)
        if (sizes[i] != wanted[i]) {
            std::snprintf(message, sizeof message, "argument %zu has %zu bytes, the kernel takes %zu", i,
                          sizes[i], wanted[i]);
            return message;
        }
    body = [=] { kernel(*static_cast<Args *>(args[I])...); };
    return run_grid(grid, block, seed);
}

template <class... Args>
const char *launch(void (*kernel)(Args...), void *const *args, const std::size_t *sizes, std::size_t count,
                   const uint3 &grid, const uint3 &block, unsigned seed) {
    return launch(kernel, std::index_sequence_for<Args...>(), args, sizes, count, grid, block, seed);
}

template <class T> T exchange(T value, int source, int line) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t));
    std::memcpy(&current->exchange[current->lane], &value, sizeof value);
    suspend(State::at_warp_barrier, line);
    std::memcpy(&value, &current->exchange[source], sizeof value);
    suspend(State::at_warp_barrier, line);
    return value;
}

template <class To, class From> To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

} // namespace shim

#define threadIdx (shim::current->thread)
#define blockIdx (shim::block_index)
#define blockDim (shim::block_size)
#define gridDim (shim::grid_size)

inline void __syncthreads(int line = __builtin_LINE()) { shim::suspend(shim::State::at_block_barrier, line); }
inline void __threadfence() {}

template <class T> T __shfl_xor_sync(unsigned, T value, int mask, int line = __builtin_LINE()) {
    return shim::exchange(value, shim::current->lane ^ mask, line);
}
template <class T> T __shfl_up_sync(unsigned, T value, unsigned delta, int line = __builtin_LINE()) {
    const int source = shim::current->lane - static_cast<int>(delta);
    return shim::exchange(value, source < 0 ? shim::current->lane : source, line);
}

template <class T> T __shfl_sync(unsigned, T value, int source, int line = __builtin_LINE()) {
    return shim::exchange(value, source, line);
}

inline unsigned atomicAdd(unsigned *at, unsigned value) { return std::exchange(*at, *at + value); }
inline float atomicAdd(float *at, float value) { return std::exchange(*at, *at + value); }
template <class T> T atomicExch(T *at, T value) { return std::exchange(*at, value); }
inline unsigned atomicInc(unsigned *at, unsigned top) { return std::exchange(*at, *at >= top ? 0 : *at + 1); }
inline unsigned atomicMax(unsigned *at, unsigned value) { return std::exchange(*at, std::max(*at, value)); }
template <class T> T __ldcg(const T *at) { return *at; }

// A texture object is the address of two words: address of the pixels, and pitch in bytes.
using cudaTextureObject_t = unsigned long long;
template <class T> T tex2D(cudaTextureObject_t texture, float x, float y) {
    const auto *const words = reinterpret_cast<const unsigned long long *>(texture);
    const auto *const row =
        reinterpret_cast<const T *>(words[0] + static_cast<unsigned long long>(y) * words[1]);
    return row[static_cast<unsigned long long>(x)];
}

inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }

inline long long min(long long a, long long b) { return a < b ? a : b; }
inline long long max(long long a, long long b) { return a > b ? a : b; }

inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(high) << 32 | low;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) // the fourth bit of a selector is not used
        result |= static_cast<unsigned>(bytes >> (selector >> (4 * i) & 7) * 8 & 255) << (8 * i);
    return result;
}
inline unsigned __vmaxu2(unsigned a, unsigned b) {
    return std::max(a >> 16, b >> 16) << 16 | std::max(a & 0xffffu, b & 0xffffu);
}
inline unsigned __vminu2(unsigned a, unsigned b) {
    return std::min(a >> 16, b >> 16) << 16 | std::min(a & 0xffffu, b & 0xffffu);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) >> (shift & 31));
}

inline float __uint_as_float(unsigned bits) { return shim::bits_as<float>(bits); }
inline unsigned __float_as_uint(float value) { return shim::bits_as<unsigned>(value); }
inline float __ll2float_rn(long long value) { return static_cast<float>(value); }
inline float __int2float_rn(int value) { return static_cast<float>(value); }
inline float __uint2float_rn(unsigned value) { return static_cast<float>(value); }
inline int __float2int_rn(float value) { return static_cast<int>(std::nearbyint(value)); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float a) { return std::min(std::max(a, 0.0f), 1.0f); }
inline float rsqrtf(float a) { return 1.0f / std::sqrt(a); }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
