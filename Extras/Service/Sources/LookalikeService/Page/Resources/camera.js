// A photo from the camera: the picture fills the window, and the results slide over it.

/**
 * @param onPhoto gets a JPEG file when a photo was taken; the camera's view stays, under the results.
 * @param onClose called when the view is left.
 */
export function setUpCamera(opener, onPhoto, onClose) {
  const field = (id) => document.getElementById(id);
  const [view, video, status] = [field("camera"), field("video"), field("camera-status")];
  let stream = null;

  function stop() {
    stream?.getTracks().forEach((track) => track.stop());
    stream = null;
    video.srcObject = null;
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
  field("shoot").addEventListener("click", () => {
    if (!video.videoWidth) return;
    const canvas = document.createElement("canvas");
    canvas.width = video.videoWidth;
    canvas.height = video.videoHeight;
    canvas.getContext("2d").drawImage(video, 0, 0);
    canvas.toBlob((blob) => {
      if (!blob) return;
      stop();
      document.body.classList.add("frozen");
      field("camera-again").focus();
      onPhoto(blob);
    }, "image/jpeg", 0.92);
  });
  field("camera-again").addEventListener("click", again);
  field("camera-close").addEventListener("click", close);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) close();
  });
  return { close };
}
