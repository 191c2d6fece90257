// The photo, with the part that is searched and the outlines of what was found.

const COLORS = ["#ffd166", "#4cc9f0", "#ff7aa8", "#7ee081", "#c79bff", "#ff9f5a"];
const SVG = "http://www.w3.org/2000/svg";

export const colorOf = (index) => COLORS[index % COLORS.length];

export class Stage {
  /** @param onRegion called when another part, or the whole photo, is to be searched */
  constructor(onRegion) {
    this.element = document.getElementById("stage");
    this.canvas = document.getElementById("canvas");
    this.photo = document.getElementById("photo");
    this.outlines = document.getElementById("outlines");
    this.box = document.getElementById("region");
    this.partButton = document.getElementById("part");
    this.region = null;
    this.onRegion = onRegion;
    this.setUpPointer();
    this.setUpKeys();
    this.partButton.addEventListener("click", () => this.togglePart());
  }

  show(blob) {
    if (this.photo.src) URL.revokeObjectURL(this.photo.src);
    this.photo.src = URL.createObjectURL(blob);
    this.element.hidden = false;
    this.setRegion(null);
    this.drawOutlines([]);
  }

  hide() {
    this.element.hidden = true;
  }

  /** @param region fractions of the photo's sides; null for all of it */
  setRegion(region) {
    this.region = region;
    this.box.hidden = !region;
    this.partButton.textContent = region ? "Search all of the photo" : "Search a part";
    if (!region) return;
    this.box.style.left = `${region.x * 100}%`;
    this.box.style.top = `${region.y * 100}%`;
    this.box.style.width = `${region.width * 100}%`;
    this.box.style.height = `${region.height * 100}%`;
  }

  /** The region as a value of a query string. */
  regionText() {
    const { x, y, width, height } = this.region;
    return [x, y, width, height].map((value) => value.toFixed(5)).join(",");
  }

  drawOutlines(results) {
    this.outlines.replaceChildren();
    this.outlines.setAttribute("viewBox", "0 0 1000 1000");
    this.outlines.setAttribute("preserveAspectRatio", "none");
    results.forEach((result, index) => {
      if (!result.outline) return;
      const points = result.outline.map(([x, y]) => `${x * 1000},${y * 1000}`).join(" ");
      for (const isHalo of [true, false]) {
        const polygon = document.createElementNS(SVG, "polygon");
        polygon.setAttribute("points", points);
        if (isHalo) polygon.setAttribute("class", "halo");
        else polygon.setAttribute("stroke", colorOf(index));
        polygon.dataset.index = index;
        this.outlines.append(polygon);
      }
    });
  }

  /** Lights the outline of a result; none for null. */
  light(index) {
    for (const polygon of this.outlines.children) {
      const isLit = index !== null && Number(polygon.dataset.index) === index && !polygon.classList.contains("halo");
      polygon.classList.toggle("lit", isLit);
    }
  }

  /** The result whose outline holds a point of the page; null if none does. */
  resultAt(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.outlines.getScreenCTM().inverse());
    for (const polygon of this.outlines.querySelectorAll("polygon:not(.halo)")) {
      if (polygon.isPointInFill(point)) return Number(polygon.dataset.index);
    }
    return null;
  }

  togglePart() {
    if (this.region) {
      this.setRegion(null);
      this.onRegion();
      return;
    }
    this.setRegion({ x: 0.25, y: 0.25, width: 0.5, height: 0.5 });
    this.box.focus();
    this.onRegion();
  }

  setUpPointer() {
    let start = null;
    const place = (event) => {
      const box = this.canvas.getBoundingClientRect();
      const clamp = (value) => Math.min(1, Math.max(0, value));
      return { x: clamp((event.clientX - box.left) / box.width), y: clamp((event.clientY - box.top) / box.height) };
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      start = { ...place(event), before: this.region };
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!start) {
        if (event.pointerType === "mouse") this.onPoint?.(this.resultAt(event));
        return;
      }
      const end = place(event);
      const region = {
        x: Math.min(start.x, end.x), y: Math.min(start.y, end.y),
        width: Math.abs(end.x - start.x), height: Math.abs(end.y - start.y),
      };
      // A click is no rectangle.
      if (region.width < 0.02 || region.height < 0.02) return;
      if (!this.canvas.hasPointerCapture(event.pointerId)) this.canvas.setPointerCapture(event.pointerId);
      this.canvas.classList.add("drawing");
      start.isDrawn = true;
      this.setRegion(region);
    });
    const end = (isKept) => {
      if (!start) return;
      const { isDrawn, before } = start;
      start = null;
      this.canvas.classList.remove("drawing");
      if (!isDrawn) return;
      if (isKept) this.onRegion();
      else this.setRegion(before);
    };
    this.canvas.addEventListener("pointerup", () => end(true));
    this.canvas.addEventListener("pointercancel", () => end(false));
    this.canvas.addEventListener("pointerleave", () => this.onPoint?.(null));
    this.photo.addEventListener("dragstart", (event) => event.preventDefault());
  }

  setUpKeys() {
    const step = 0.02;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    this.box.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        this.onRegion();
      } else if (event.key === "Escape") {
        this.partButton.focus();
        this.togglePart();
      } else if (event.key in moves) {
        const [dx, dy] = moves[event.key].map((value) => value * step);
        const { x, y, width, height } = this.region;
        const limit = (value, least, most) => Math.min(most, Math.max(least, value));
        this.setRegion(
          event.shiftKey
            ? { x, y, width: limit(width + dx, 0.05, 1 - x), height: limit(height + dy, 0.05, 1 - y) }
            : { x: limit(x + dx, 0, 1 - width), y: limit(y + dy, 0, 1 - height), width, height });
      } else {
        return;
      }
      event.preventDefault();
    });
  }
}
