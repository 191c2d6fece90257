// The photo, with the part that is searched and the outlines of what was found.

const COLORS = ["#ffd166", "#4cc9f0", "#ff7aa8", "#7ee081", "#c79bff", "#ff9f5a"];
const SVG = "http://www.w3.org/2000/svg";
const LEAST_SIDE = 0.04;
const MOST_ZOOM = 8;
/** How far a finger or a mouse moves before it draws, in pixels. */
const LEAST_MOVE = 6;

export const colorOf = (index) => COLORS[index % COLORS.length];

/** Whether results need numbers, because colors repeat. */
export const areNumbered = (results) => results.filter((result) => result.outline).length > COLORS.length;

const limited = (value, least, most) => Math.min(most, Math.max(least, value));

/** Draws the outlines of results, which have corners in thousandths, into an SVG element. */
export function drawPolygons(container, results) {
  const group = document.createElementNS(SVG, "g");
  results.forEach((result, index) => {
    if (!result.outline) return;
    const points = result.outline.map(([x, y]) => `${x * 1000},${y * 1000}`).join(" ");
    for (const isHalo of [true, false]) {
      const polygon = document.createElementNS(SVG, "polygon");
      polygon.setAttribute("points", points);
      if (isHalo) polygon.setAttribute("class", "halo");
      else polygon.setAttribute("stroke", colorOf(index));
      polygon.dataset.index = index;
      group.append(polygon);
    }
  });
  container.replaceChildren(group);
}

export class Stage {
  /** @param onRegion called when another part, or the whole photo, is to be searched */
  constructor(onRegion) {
    for (const id of ["stage", "canvas", "plane", "photo", "outlines", "numbers", "region", "part"]) {
      this[`${id}Element`] = document.getElementById(id);
    }
    this.region = null;
    this.onRegion = onRegion;
    this.zoom = { scale: 1, x: 0, y: 0 };
    this.setUpPointer();
    this.setUpKeys();
    this.partElement.addEventListener("click", () => this.togglePart());
  }

  get isShown() {
    return !this.stageElement.hidden;
  }

  /**
   * Shows a photo; throws for one that this browser cannot show, which leaves the stage as it was.
   *
   * @param name what it is, for those who do not see it
   */
  async show(blob, name) {
    const image = new Image();
    image.src = URL.createObjectURL(blob);
    try {
      await image.decode();
    } catch {
      URL.revokeObjectURL(image.src);
      throw new Error("This photo is damaged, or was not sent completely. Choose it again, or take another one.");
    }
    if (this.photoElement.src) URL.revokeObjectURL(this.photoElement.src);
    this.photoElement.src = image.src;
    this.photoElement.alt = name;
    this.stageElement.hidden = false;
    this.setRegion(null);
    this.drawOutlines([]);
  }

  hide() {
    this.stageElement.hidden = true;
    this.setRegion(null);
  }

  /** @param region fractions of the photo's sides; null for all of it */
  setRegion(region) {
    this.region = region;
    this.regionElement.hidden = !region;
    this.stageElement.classList.toggle("cropping", region !== null);
    this.partElement.textContent = region ? "Whole photo" : "Search a part";
    if (!region) {
      this.setZoom(1, 0, 0);
      return;
    }
    for (const [name, value] of Object.entries({
      left: region.x, top: region.y, width: region.width, height: region.height,
    })) this.regionElement.style[name] = `${value * 100}%`;
  }

  /** The region as a value of a query string. */
  regionText() {
    const { x, y, width, height } = this.region;
    return [x, y, width, height].map((value) => value.toFixed(5)).join(",");
  }

  drawOutlines(results) {
    this.results = results;
    drawPolygons(this.outlinesElement, results);
    this.numbersElement.replaceChildren();
    if (!areNumbered(results)) return;
    results.forEach((result, index) => {
      if (!result.outline) return;
      const number = document.createElement("span");
      number.textContent = index + 1;
      const center = [0, 1].map((axis) => result.outline.reduce((sum, corner) => sum + corner[axis], 0) / 4);
      [number.style.left, number.style.top] = center.map((value) => `${limited(value, 0.02, 0.98) * 100}%`);
      number.style.backgroundColor = colorOf(index);
      this.numbersElement.append(number);
    });
  }

  /** Lights the outline of a result; none for null. */
  light(index) {
    for (const polygon of this.outlinesElement.querySelectorAll("polygon")) {
      const isLit = index !== null && Number(polygon.dataset.index) === index && !polygon.classList.contains("halo");
      polygon.classList.toggle("lit", isLit);
    }
  }

  /** The place of a pointer, in fractions of the photo's sides. */
  place({ clientX, clientY }) {
    const box = this.planeElement.getBoundingClientRect();
    return {
      x: limited((clientX - box.left) / box.width, 0, 1), y: limited((clientY - box.top) / box.height, 0, 1),
    };
  }

  /** The smallest result whose outline holds a point; null if none does. */
  resultAt(event) {
    const { x, y } = this.place(event);
    const point = new DOMPoint(x * 1000, y * 1000);
    const found = [...this.outlinesElement.querySelectorAll("polygon:not(.halo)")]
      .filter((polygon) => polygon.isPointInFill(point)).map((polygon) => Number(polygon.dataset.index));
    const area = (index) => {
      const { width, height } = this.bounds(index);
      return width * height;
    };
    return found.sort((a, b) => area(a) - area(b))[0] ?? null;
  }

  /** The part of the photo that holds an outline. */
  bounds(index) {
    const [xs, ys] = [0, 1].map((axis) => this.results[index].outline.map((corner) => corner[axis]));
    const [left, top] = [xs, ys].map((values) => limited(Math.min(...values), 0, 1 - LEAST_SIDE));
    const [right, bottom] = [xs, ys].map((values) => limited(Math.max(...values), 0, 1));
    return { x: left, y: top, width: Math.max(right - left, LEAST_SIDE), height: Math.max(bottom - top, LEAST_SIDE) };
  }

  togglePart() {
    this.setRegion(this.region ? null : { x: 0.25, y: 0.25, width: 0.5, height: 0.5 });
    if (this.region) this.regionElement.focus({ preventScroll: true });
    this.onRegion();
  }

  // MARK: Zoom

  /** Shows the photo larger; x and y are where its corner lies, in pixels of the canvas. */
  setZoom(scale, x, y) {
    const [width, height] = [this.canvasElement.clientWidth, this.canvasElement.clientHeight];
    this.zoom = { scale, x: limited(x, width * (1 - scale), 0), y: limited(y, height * (1 - scale), 0) };
    this.planeElement.style.transform =
      scale === 1 ? "" : `translate(${this.zoom.x}px, ${this.zoom.y}px) scale(${scale})`;
    // What lies on the photo keeps its size.
    this.planeElement.style.setProperty("--zoom", scale);
  }

  /** Zooms by a factor, so that what was at `before` is at `after`; both in the window. */
  zoomBy(factor, before, after) {
    const box = this.canvasElement.getBoundingClientRect();
    const { scale, x, y } = this.zoom;
    const next = limited(scale * factor, 1, MOST_ZOOM);
    const kept = next / scale;
    this.setZoom(
      next, after.x - box.left - (before.x - box.left - x) * kept, after.y - box.top - (before.y - box.top - y) * kept);
  }

  // MARK: Pointers

  setUpPointer() {
    const canvas = this.canvasElement;
    const pointers = new Map();
    let drag = null;
    let isPinching = false;

    const pinch = () => {
      const [a, b] = [...pointers.values()];
      return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, distance: Math.max(1, Math.hypot(a.x - b.x, a.y - b.y)) };
    };
    const cancel = () => {
      if (drag?.isMoved) this.setRegion(drag.before);
      drag = null;
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (pointers.size === 2 && this.region) {
        cancel();
        isPinching = true;
        return;
      }
      if (pointers.size > 1) return;
      // It ends here, wherever the button is let go.
      canvas.setPointerCapture(event.pointerId);
      const at = this.place(event);
      const { region } = this;
      const isInside = region && at.x >= region.x && at.x <= region.x + region.width
        && at.y >= region.y && at.y <= region.y + region.height;
      drag = {
        at, x: event.clientX, y: event.clientY, before: region,
        kind: event.target.dataset.grip ?? (isInside ? "move" : "draw"),
        // A finger scrolls the page, unless it was said that a part is meant.
        canDraw: region !== null || event.pointerType === "mouse",
      };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!pointers.has(event.pointerId)) {
        if (event.pointerType === "mouse") this.onPoint?.(this.resultAt(event));
        return;
      }
      const before = pointers.size === 2 ? pinch() : null;
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (isPinching) {
        if (!before) return;
        const after = pinch();
        this.zoomBy(after.distance / before.distance, before, after);
        return;
      }
      if (!drag?.canDraw) return;
      // A click moves nothing.
      if (!drag.isMoved && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < LEAST_MOVE) return;
      drag.isMoved = true;
      this.setRegion(moved(drag, this.place(event)));
    });
    const end = (event, isKept) => {
      pointers.delete(event.pointerId);
      if (isPinching) {
        if (!pointers.size) isPinching = false;
        return;
      }
      const ended = drag;
      drag = null;
      if (!ended) return;
      if (!ended.isMoved) {
        if (isKept && ended.kind === "draw") this.tap(event);
      } else if (!isKept || this.region.width < LEAST_SIDE || this.region.height < LEAST_SIDE) {
        this.setRegion(ended.before);
      } else {
        this.onRegion();
      }
    };
    canvas.addEventListener("pointerup", (event) => end(event, true));
    canvas.addEventListener("pointercancel", (event) => end(event, false));
    canvas.addEventListener("pointerleave", () => this.onPoint?.(null));
    // What a pinch on a touchpad is to a page.
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey || !this.region) return;
      event.preventDefault();
      const at = { x: event.clientX, y: event.clientY };
      this.zoomBy(Math.exp(-event.deltaY / 100), at, at);
    }, { passive: false });
    this.photoElement.addEventListener("dragstart", (event) => event.preventDefault());
  }

  /** Searches what an outline holds alone. */
  tap(event) {
    const index = this.resultAt(event);
    if (index === null) return;
    const region = this.bounds(index);
    // What fills the photo is alone already.
    if (region.width * region.height > 0.9) return;
    this.setRegion(region);
    this.onRegion();
  }

  // MARK: Keys

  setUpKeys() {
    const step = 0.02;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    this.regionElement.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        this.onRegion();
      } else if (event.key === "Escape") {
        this.partElement.focus();
        this.togglePart();
      } else if (event.key in moves) {
        const [dx, dy] = moves[event.key].map((value) => value * step);
        const { x, y, width, height } = this.region;
        this.setRegion(
          event.shiftKey
            ? { x, y, width: limited(width + dx, 0.05, 1 - x), height: limited(height + dy, 0.05, 1 - y) }
            : { x: limited(x + dx, 0, 1 - width), y: limited(y + dy, 0, 1 - height), width, height });
      } else {
        return;
      }
      event.preventDefault();
    });
  }
}

/** The region that a drag makes: of a new one, of the whole, or of the sides that a grip names, such as “nw”. */
function moved({ kind, at, before }, to) {
  if (kind === "draw") {
    return {
      x: Math.min(at.x, to.x), y: Math.min(at.y, to.y), width: Math.abs(to.x - at.x), height: Math.abs(to.y - at.y),
    };
  }
  const { x, y, width, height } = before;
  const [dx, dy] = [to.x - at.x, to.y - at.y];
  if (kind === "move") {
    return { x: limited(x + dx, 0, 1 - width), y: limited(y + dy, 0, 1 - height), width, height };
  }
  let [left, top, right, bottom] = [x, y, x + width, y + height];
  if (kind.includes("w")) left = limited(left + dx, 0, right - LEAST_SIDE);
  if (kind.includes("e")) right = limited(right + dx, left + LEAST_SIDE, 1);
  if (kind.includes("n")) top = limited(top + dy, 0, bottom - LEAST_SIDE);
  if (kind.includes("s")) bottom = limited(bottom + dy, top + LEAST_SIDE, 1);
  return { x: left, y: top, width: right - left, height: bottom - top };
}
