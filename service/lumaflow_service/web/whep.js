// Live pictures by WebRTC (WHEP), where the service has it: video, which copes with lines that lose packets.

import { exchange, send } from "./client.js";

const GATHER_MS = 1000;
const OVER = ["failed", "closed"];

/** Gives picture after picture from `path` to `onPicture`; returns when the connection is over. */
export async function whep(path, signal, onPicture) {
  const peer = new RTCPeerConnection({ iceServers: [] });
  const over = new Promise((done) => {
    peer.onconnectionstatechange = () => OVER.includes(peer.connectionState) && done();
    signal.addEventListener("abort", done);
  });
  peer.ontrack = ({ track }) => play(track, onPicture);
  try {
    const left = await connect(peer, path, signal);
    await over;
    await left().catch(() => {}); // it may know already
  } finally {
    peer.close();
  }
}

/** Offers and takes the answer; returns what tells the service that nobody looks any more. */
async function connect(peer, path, signal) {
  peer.addTransceiver("video", { direction: "recvonly" });
  await peer.setLocalDescription();
  await gathered(peer);
  const { text, location } = await exchange(path, peer.localDescription.sdp, signal);
  await peer.setRemoteDescription({ type: "answer", sdp: text });
  return () => send("DELETE", `${path.split("?")[0]}/${location.split("/").pop()}`);
}

/** Waits until all addresses of this machine are in the offer, but not long. */
function gathered(peer) {
  return new Promise((done) => {
    setTimeout(done, GATHER_MS);
    peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && done();
  });
}

function play(track, onPicture) {
  const video = Object.assign(document.createElement("video"), { muted: true, srcObject: new MediaStream([track]) });
  const show = async () => {
    if (track.readyState === "ended") return;
    video.requestVideoFrameCallback(show);
    onPicture(await createImageBitmap(video));
  };
  video.requestVideoFrameCallback(show);
  video.play();
}
