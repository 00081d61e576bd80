"""How fast this GPU's wire is: the limit against which a pipeline is measured."""

from time import perf_counter

import cupy
from cupy.cuda import runtime

from lumaflow.cuda.cuda_errors import translate_cuda_errors
from lumaflow.cuda.memory import DeviceBlock, PinnedBlock

TRANSFERS = 200


def measure(device_index: int, upload_bytes: int, download_bytes: int) -> float:
    """Seconds a frame when `upload_bytes` go up and `download_bytes` come down at the same time, pinned.

    Either may be 0 to measure the other direction alone. Raises DeviceError.
    """
    with translate_cuda_errors("measuring the wire"), cupy.cuda.Device(device_index):
        spec = {"up": ((max(upload_bytes, 1),), cupy.uint8), "down": ((max(download_bytes, 1),), cupy.uint8)}
        device, host = DeviceBlock(spec).arrays, PinnedBlock(spec).arrays
        up, down = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))

        def transfer(count: int) -> float:
            began = perf_counter()
            for _ in range(count):
                if upload_bytes:
                    source, target = host["up"].ctypes.data, device["up"].data.ptr
                    runtime.memcpyAsync(target, source, upload_bytes, runtime.memcpyHostToDevice, up.ptr)
                if download_bytes:
                    source, target = device["down"].data.ptr, host["down"].ctypes.data
                    runtime.memcpyAsync(target, source, download_bytes, runtime.memcpyDeviceToHost, down.ptr)
            up.synchronize()
            down.synchronize()
            return (perf_counter() - began) / count

        transfer(TRANSFERS // 10)
        return sorted(transfer(TRANSFERS) for _ in range(5))[2]
