"""The camera process: reads one camera, file or device, and writes its enhanced frames to outputs."""
