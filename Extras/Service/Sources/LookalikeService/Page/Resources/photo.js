// Photos as the service takes them: JPEG or PNG, and no larger than a search needs.

const LONGEST_SIDE = 2560;
const LARGEST_FILE = 4_000_000;

/** The photo itself, or a JPEG copy of one that is large or of a format that only browsers read. */
export async function prepared(file) {
  const isReadable = file.type === "image/jpeg" || file.type === "image/png";
  if (isReadable && file.size <= LARGEST_FILE) return file;
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { imageOrientation: "from-image" });
  } catch {
    // The service says what is wrong with it.
    return file;
  }
  const scale = Math.min(1, LONGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const context = canvas.getContext("2d");
  // Transparent pixels would become black.
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob ?? file), "image/jpeg", 0.92));
}

/** The images among what was dropped or pasted. */
export function images(transfer) {
  return [...(transfer?.files ?? [])].filter((file) => file.type.startsWith("image/") || file.type === "");
}

/** Takes images that are dropped on an element. */
export function acceptDrops(element, onImages) {
  for (const name of ["dragenter", "dragover"]) {
    element.addEventListener(name, (event) => {
      event.preventDefault();
      element.classList.add("over");
    });
  }
  element.addEventListener("dragleave", (event) => {
    if (!element.contains(event.relatedTarget)) element.classList.remove("over");
  });
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    element.classList.remove("over");
    const found = images(event.dataTransfer);
    if (found.length) onImages(found);
  });
}
