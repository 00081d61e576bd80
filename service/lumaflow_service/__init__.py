"""lumaflow's service: everything a client or an operator touches."""
