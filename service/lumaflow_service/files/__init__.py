"""Files in, enhanced files out: images, videos and folders of both."""
