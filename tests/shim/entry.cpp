// One kernel with its launcher, as a shared object. -DKERNEL_FILE='"histogram.cu"' -DKERNEL=histogram
// The header of the shim is included from the command line, compiled beforehand.
#include KERNEL_FILE

extern "C" const char *shim_launch(void *const *args, const std::size_t *sizes, std::size_t count,
                                   const uint3 *grid, const uint3 *block, unsigned seed) {
    return shim::launch(KERNEL, args, sizes, count, *grid, *block, seed);
}
