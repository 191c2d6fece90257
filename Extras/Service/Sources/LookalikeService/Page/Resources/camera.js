// A photo from the camera: the picture fills the window, what it shows is searched meanwhile, and when the photo is taken
// the results slide over it.

import { button, nameOf } from "./cards.js";
import { drawPolygons } from "./stage.js";

/** Frames that are searched meanwhile: their longer side, and the least time between them in milliseconds. */
const LIVE_SIDE = 960;
const LIVE_PAUSE = 500;
/** How much the gray values of two frames differ on average, of 255, if the second is worth a search. */
const LEAST_CHANGE = 3;
const LEAST_CONFIDENCE = 0.5;

const pause = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

/**
 * @param context.onPhoto gets a JPEG file when a photo was taken; the camera's view stays, under the results.
 * @param context.onClose called when the view is left.
 * @param context.search searches a JPEG file, with a signal that ends it.
 */
export function setUpCamera(opener, { onPhoto, onClose, search }) {
  const field = (id) => document.getElementById(id);
  const [view, video, status] = [field("camera"), field("video"), field("camera-status")];
  const [outlines, names] = [field("live-outlines"), field("live-names")];
  let stream = null;
  let live = null;

  function stop() {
    live?.abort();
    live = null;
    showLive([]);
    stream?.getTracks().forEach((track) => track.stop());
    stream = null;
    video.srcObject = null;
  }

  // MARK: What the camera sees

  function frame(side = Infinity) {
    const scale = Math.min(1, side / Math.max(video.videoWidth, video.videoHeight));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(video.videoWidth * scale));
    canvas.height = Math.max(1, Math.round(video.videoHeight * scale));
    canvas.getContext("2d").drawImage(video, 0, 0, canvas.width, canvas.height);
    return canvas;
  }

  const jpeg = (canvas, quality) => new Promise((resolve) => { canvas.toBlob(resolve, "image/jpeg", quality); });

  /** The gray values of a frame of a few pixels. */
  function sketch() {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [16, 16];
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(video, 0, 0, 16, 16);
    const { data } = context.getImageData(0, 0, 16, 16);
    return Array.from({ length: 256 }, (_, index) => data.subarray(index * 4, index * 4 + 3)
      .reduce((sum, value) => sum + value / 3, 0));
  }

  /** Shows matches over the picture: their outlines, and their names, which take the photo. */
  function showLive(results) {
    drawPolygons(outlines, results);
    const { videoWidth, videoHeight } = video;
    // It fills the window as the video does, with bars beside it.
    outlines.setAttribute("viewBox", `0 0 ${videoWidth || 1} ${videoHeight || 1}`);
    outlines.firstElementChild?.setAttribute("transform", `scale(${videoWidth / 1000} ${videoHeight / 1000})`);
    const same = results.map(({ entity }) => entity.id).join("\n");
    // What is read aloud is not to be read again with each frame.
    if (names.dataset.ids === same) return;
    names.dataset.ids = same;
    names.replaceChildren(...results.map(({ entity }) => button(nameOf(entity), "", shoot)));
  }

  /** Searches a frame after the other, as long as the camera is open: one at a time, and none that is as the last. */
  async function look() {
    const mine = new AbortController();
    live = mine;
    let last = null;
    let wait = LIVE_PAUSE;
    while (live === mine) {
      await pause(wait);
      if (live !== mine) return;
      if (document.hidden || !video.videoWidth) continue;
      const now = sketch();
      const change = last ? now.reduce((sum, value, index) => sum + Math.abs(value - last[index]), 0) / 256 : Infinity;
      if (change < LEAST_CHANGE) continue;
      const start = performance.now();
      try {
        const answer = await search(await jpeg(frame(LIVE_SIDE), 0.8), mine.signal);
        if (live !== mine) return;
        last = now;
        showLive(answer.results.filter(({ confidence }) => confidence >= LEAST_CONFIDENCE));
        // Half of the time is for others.
        wait = Math.max(LIVE_PAUSE, performance.now() - start);
      } catch (failure) {
        if (failure.needsKey) return;
        // A busy service has more to do; the photo can be taken all the same.
        wait = Math.min(wait * 2, 10_000);
      }
    }
  }

  /** The phone's own camera program, where the page may not use the camera: over HTTP without TLS, or if refused. */
  function pick() {
    const input = document.createElement("input");
    input.type = "file";
    input.accept = "image/*";
    input.capture = "environment";
    input.addEventListener("change", () => input.files[0] && onPhoto(input.files[0]));
    input.click();
  }

  function close() {
    if (!document.body.classList.contains("camera")) return;
    stop();
    view.hidden = true;
    document.body.classList.remove("camera", "frozen");
    onClose();
    opener.focus();
  }

  async function start() {
    status.textContent = "Waiting for the camera…";
    try {
      stream = await navigator.mediaDevices.getUserMedia({
        video: { facingMode: "environment", width: { ideal: 1920 }, height: { ideal: 1080 } },
      });
      // It may have been closed meanwhile.
      if (view.hidden) return stop();
      video.srcObject = stream;
      status.textContent = "";
      look();
    } catch {
      status.textContent = "There is no camera, or this page may not use it.";
      field("camera-pick").hidden = false;
    }
  }

  function again() {
    document.body.classList.remove("frozen");
    field("shoot").focus();
    start();
  }

  opener.addEventListener("click", () => {
    if (!navigator.mediaDevices) return pick();
    view.hidden = false;
    field("camera-pick").hidden = true;
    document.body.classList.add("camera");
    field("shoot").focus();
    start();
  });
  field("camera-pick").addEventListener("click", pick);

  async function shoot() {
    if (!video.videoWidth) return;
    const blob = await jpeg(frame(), 0.92);
    if (!blob || !stream) return;
    stop();
    document.body.classList.add("frozen");
    field("camera-again").focus();
    onPhoto(blob);
  }

  field("shoot").addEventListener("click", shoot);
  field("camera-again").addEventListener("click", again);
  field("camera-close").addEventListener("click", close);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) close();
  });
  return { close };
}
