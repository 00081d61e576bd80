"""What the API process does besides HTTP: worker, cameras, sources, metrics, newest views."""
