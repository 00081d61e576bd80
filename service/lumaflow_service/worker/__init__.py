"""The worker process: decodes, runs the lanes of one device, encodes; `python -m lumaflow_service.worker`."""
