"""Looking by WebRTC (WHEP); needs the extra `webrtc`, which nothing but `peer` imports."""
