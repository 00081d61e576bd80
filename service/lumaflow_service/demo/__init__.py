"""What the sample scene is made of; `lumaflow_service.demo.scene` is its front."""
