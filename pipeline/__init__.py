"""lumaflow's pipeline: frames in, enhanced frames and descriptors out."""
