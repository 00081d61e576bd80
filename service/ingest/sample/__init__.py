"""What the sample scene is made of; `service.ingest.scene` is its front."""
