// Live video over WebRTC (WHEP), which tolerates packet loss; available if the service has the extra.

import { postOffer, send } from "./client.js";

const ICE_TIMEOUT_MS = 1000;
const FINAL_STATES = ["failed", "closed"];

/** Calls `onImage` for each frame of `path`; returns when the connection ends. */
export async function watchWhep(path, signal, onImage) {
  const peer = new RTCPeerConnection({ iceServers: [] });
  const ended = new Promise((resolve) => {
    peer.onconnectionstatechange = () => FINAL_STATES.includes(peer.connectionState) && resolve();
    signal.addEventListener("abort", resolve);
  });
  peer.ontrack = ({ track }) => play(track, onImage);
  try {
    const disconnect = await connect(peer, path, signal);
    await ended;
    await disconnect().catch(() => {}); // the service may have closed the connection already
  } finally {
    peer.close();
  }
}

/** Sends the offer and applies the answer; returns a function that deletes the connection. */
async function connect(peer, path, signal) {
  peer.addTransceiver("video", { direction: "recvonly" });
  await peer.setLocalDescription();
  await iceGathered(peer);
  const { text, location } = await postOffer(path, peer.localDescription.sdp, signal);
  await peer.setRemoteDescription({ type: "answer", sdp: text });
  return () => send("DELETE", `${path.split("?")[0]}/${location.split("/").pop()}`);
}

/** Waits until all ICE candidates are gathered, at most ICE_TIMEOUT_MS. */
function iceGathered(peer) {
  return new Promise((resolve) => {
    setTimeout(resolve, ICE_TIMEOUT_MS);
    peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && resolve();
  });
}

function play(track, onImage) {
  const video = Object.assign(document.createElement("video"), { muted: true, srcObject: new MediaStream([track]) });
  const onFrame = async () => {
    if (track.readyState === "ended") return;
    video.requestVideoFrameCallback(onFrame);
    const bitmap = await createImageBitmap(video).catch(() => null); // not usable if the track ends meanwhile
    if (bitmap) onImage(bitmap);
  };
  video.requestVideoFrameCallback(onFrame);
  video.play();
}
