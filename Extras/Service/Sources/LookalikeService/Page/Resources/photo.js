// Photos as the service takes them: JPEG or PNG, and no larger than a search needs.

import { previewOf } from "./api.js";

const LONGEST_SIDE = 2560;
const LARGEST_FILE = 4_000_000;

/** Files that people take for photos, by how they begin. */
const OTHERS = [
  [/^%PDF/, "This is a PDF document, not a photo. Take a screenshot of what you mean, and choose that."],
  [/^(\x1aE\xdf\xa3|....ftyp(mp4|isom|iso2|avc1|M4V|qt))/s, "This is a video. Take a screenshot of what you mean."],
  [/^(PK\x03\x04|\xd0\xcf\x11\xe0)/, "This is a document or an archive, not a photo. Choose a photo or a screenshot."],
];

/** Why a file is no photo, in words; null for anything else. */
export async function refusal(file) {
  if (!file.size) return "This file is empty. Choose another photo.";
  const start = String.fromCharCode(...new Uint8Array(await file.slice(0, 16).arrayBuffer()));
  return OTHERS.find(([pattern]) => pattern.test(start))?.[1] ?? null;
}

/**
 * The photo itself, or a JPEG copy of one that is large, or that is of a format that only browsers or only the service
 * read.
 *
 * @throws Error with words for people.
 */
export async function prepared(file) {
  const words = await refusal(file);
  if (words) throw new Error(words);
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { imageOrientation: "from-image" });
  } catch {
    return previewOf(file);
  }
  const isReadable = file.type === "image/jpeg" || file.type === "image/png";
  const scale = Math.min(1, LONGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  if (isReadable && file.size <= LARGEST_FILE) {
    bitmap.close();
    return file;
  }
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

/** The files among what was dropped or pasted. */
export const files = (transfer) => [...(transfer?.files ?? [])];

/** Takes files that are dropped on an element. */
export function acceptDrops(element, onFiles) {
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
    const found = files(event.dataTransfer);
    if (found.length) onFiles(found);
  });
}
