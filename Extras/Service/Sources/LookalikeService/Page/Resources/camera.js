// A photo from the camera.

/** Opens the camera's dialog; calls `onPhoto` with a JPEG file if one is taken. */
export function setUpCamera(button, onPhoto) {
  const dialog = document.getElementById("camera-dialog");
  const video = document.getElementById("video");
  const status = document.getElementById("camera-status");
  let stream = null;

  function stop() {
    stream?.getTracks().forEach((track) => track.stop());
    stream = null;
    video.srcObject = null;
  }

  button.addEventListener("click", async () => {
    // Phones have a better camera program than a page.
    if (matchMedia("(pointer: coarse)").matches || !navigator.mediaDevices) {
      const input = document.createElement("input");
      input.type = "file";
      input.accept = "image/*";
      input.capture = "environment";
      input.addEventListener("change", () => input.files[0] && onPhoto(input.files[0]));
      input.click();
      return;
    }
    status.textContent = "Waiting for the camera…";
    dialog.showModal();
    try {
      stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
      video.srcObject = stream;
      status.textContent = "";
    } catch {
      status.textContent = "There is no camera, or this page may not use it.";
    }
  });
  document.getElementById("shoot").addEventListener("click", () => {
    if (!video.videoWidth) return;
    const canvas = document.createElement("canvas");
    canvas.width = video.videoWidth;
    canvas.height = video.videoHeight;
    canvas.getContext("2d").drawImage(video, 0, 0);
    canvas.toBlob((blob) => blob && onPhoto(blob), "image/jpeg", 0.92);
    dialog.close();
  });
  document.getElementById("camera-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", stop);
}
