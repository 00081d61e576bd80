// One kernel with a launch function, compiled to a shared object. -DKERNEL_FILE='"histogram.cu"' -DKERNEL=histogram
// The precompiled header cuda.h is included from the command line.
#include KERNEL_FILE

extern "C" const char *shim_launch(void *const *args, const std::size_t *sizes, std::size_t count,
                                   const uint3 *grid, const uint3 *block, unsigned seed) {
    return shim::launch(KERNEL, args, sizes, count, *grid, *block, seed);
}
