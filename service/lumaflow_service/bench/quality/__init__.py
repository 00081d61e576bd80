"""`lumaflow bench quality`: every mode and its peers over images, reference pairs and clips.

`inputs` reads a folder and `degradation` generates reference pairs; `methods`, `peers` and `ffmpeg_filter`
enhance; `scores` measures; `evaluation` runs all of it; `report` and `contact_sheets` show the result.
"""
