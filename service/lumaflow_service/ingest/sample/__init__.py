"""What the sample scene is made of; `lumaflow_service.ingest.scene` is its front."""
