"""The worker process: decodes, runs the lanes of one device, encodes."""
