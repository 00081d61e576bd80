"""Live views over WebRTC (WHEP). Only `peer` imports the extra `webrtc`."""
