"""PCIe bandwidth between pinned host memory and the GPU, the upper limit for the frame rate of a lane."""

from time import perf_counter

import cupy
from cupy.cuda import runtime

from lumaflow.cuda.cuda_errors import translate_cuda_errors
from lumaflow.cuda.memory import DeviceBlock, PinnedBlock

TRANSFERS = 200


def seconds_per_frame(device_index: int, upload_bytes: int, download_bytes: int) -> float:
    """Seconds to upload and download these bytes at the same time; 0 bytes for one direction only.

    Raises DeviceError.
    """
    with translate_cuda_errors("measuring PCIe bandwidth"), cupy.cuda.Device(device_index):
        spec = {"up": ((max(upload_bytes, 1),), cupy.uint8), "down": ((max(download_bytes, 1),), cupy.uint8)}
        device, host = DeviceBlock(spec).arrays, PinnedBlock(spec).arrays
        up, down = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))

        def transfer(count: int) -> float:
            start = perf_counter()
            for _ in range(count):
                if upload_bytes:
                    source, target = host["up"].ctypes.data, device["up"].data.ptr
                    runtime.memcpyAsync(target, source, upload_bytes, runtime.memcpyHostToDevice, up.ptr)
                if download_bytes:
                    source, target = device["down"].data.ptr, host["down"].ctypes.data
                    runtime.memcpyAsync(target, source, download_bytes, runtime.memcpyDeviceToHost, down.ptr)
            up.synchronize()
            down.synchronize()
            return (perf_counter() - start) / count

        transfer(TRANSFERS // 10)
        return sorted(transfer(TRANSFERS) for _ in range(5))[2]
