"""Where frames come from: cameras, files and the sample scene."""
