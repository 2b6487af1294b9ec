const LANE = 17; // height of a thread's lane with the gap below it, px

// Lanes draws what each thread did in each slot, below the timeline and with the same time axis: one lane for each listed thread. Only
// visible lanes are drawn. It reports a choice by onChoose(set), a dragged range by onSelect(from, to), and by onHover(lines, event).
class Lanes {
  isOpen = false;
  #bands = new Map(); // of visible threads, by number
  #drag = null;
  #frame = 0; // pending requestAnimationFrame; 0: none

  constructor(profile, strip, threads, element) {
    Object.assign(this, {profile, strip, threads, element});
    this.canvas = element.querySelector('canvas');
    this.space = element.querySelector('.space');
    this.context = this.canvas.getContext('2d', {alpha: false});
    this.onChoose = this.onSelect = this.onHover = () => {};
    element.addEventListener('scroll', () => this.draw());
    this.canvas.addEventListener('pointerdown', (event) => this.#press(event));
    this.canvas.addEventListener('pointermove', (event) => this.#move(event));
    this.canvas.addEventListener('pointerup', (event) => this.#release(event));
    this.canvas.addEventListener('pointercancel', () => { this.#drag = null; });
    this.canvas.addEventListener('pointerleave', () => this.onHover(undefined));
    new ResizeObserver(() => this.draw()).observe(element);
  }

  open(isOpen) {
    this.isOpen = isOpen;
    this.element.hidden = !isOpen;
    this.draw();
  }

  // show shows the lanes of a view.
  show(view) {
    this.view = view;
    this.#bands.clear();
    this.draw();
  }

  // draw draws soon. The list of threads, the selected range and the chosen threads may have changed.
  draw() {
    if (this.isOpen) this.#frame ||= requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const {context, element, canvas, strip: {palette, width}, threads: {listed}} = this;
    if (!this.isOpen || !palette || !width || !this.view) return;
    this.space.style.height = `${listed.length * LANE}px`;
    const height = element.clientHeight;
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.fillStyle = palette.page;
    context.fillRect(0, 0, width, height);
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    const first = Math.floor(element.scrollTop / LANE);
    const visible = listed.slice(first, Math.ceil((element.scrollTop + height) / LANE));
    const top = (i) => (first + i) * LANE - element.scrollTop;
    visible.forEach((thread, i) => this.#lane(thread, top(i)));
    this.strip.shade(context, height);
    visible.forEach((thread, i) => this.#label(thread, top(i)));
  }

  #lane(thread, y) {
    const {context, strip, strip: {palette}, profile} = this;
    const bands = this.#bandsOf(thread);
    const box = LANE - 3;
    bands.forEach((band, i) => {
      context.fillStyle = palette.times[i];
      for (let slot = 0; slot < profile.slots; slot++) {
        if (band[slot] === 0) continue;
        let below = 0;
        for (let other = 0; other < i; other++) below += bands[other][slot];
        const length = strip.lengthOf(slot);
        const from = slot;
        // Neighbours that are the same all the time are one.
        while (band[slot] === length && slot + 1 < profile.slots && band[slot + 1] === strip.lengthOf(slot + 1)) slot++;
        const x = strip.x(from);
        const height = Math.min(1, band[slot] / strip.lengthOf(slot)) * box;
        context.fillRect(x, y + box - Math.min(1, below / length) * box - height, Math.max(strip.x(slot + 1) - x, 0.5), height);
      }
    });
  }

  #label(thread, y) {
    const {context, strip: {palette}} = this;
    const box = LANE - 3;
    const text = `${this.threads.nameOf(thread)} ${this.threads.numberOf(thread)}`;
    context.globalAlpha = 0.8;
    context.fillStyle = palette.page;
    context.fillRect(0, y, context.measureText(text).width + 8, box);
    context.globalAlpha = 1;
    context.fillStyle = palette.text;
    context.fillText(text, 4, y + box / 2);
    if (this.threads.isChosen(thread)) {
      context.fillStyle = palette.accent;
      context.fillRect(0, y, 3, box);
    }
  }

  // bandsOf is a thread's time in each slot, by band.
  #bandsOf(thread) {
    let bands = this.#bands.get(thread);
    if (!bands) {
      if (this.#bands.size > 500) this.#bands.clear();
      bands = BANDS.map(() => new Float64Array(this.profile.slots));
      this.strip.addThread(thread, bands, (kind) => (this.view.has(kind) ? BAND_OF[kind] : -1));
      this.#bands.set(thread, bands);
    }
    return bands;
  }

  #threadAt(event) {
    return this.threads.listed[Math.floor((event.clientY - this.canvas.getBoundingClientRect().top + this.element.scrollTop) / LANE)];
  }

  #press(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.#drag = {fixed: this.strip.slotAt(event), x: event.clientX, isClick: true};
  }

  #move(event) {
    const drag = this.#drag;
    const slot = this.strip.slotAt(event);
    if (!drag) {
      const thread = this.#threadAt(event);
      this.onHover(thread === undefined ? undefined : this.#lines(thread, Math.min(Math.floor(slot), this.profile.slots - 1)), event);
      return;
    }
    if (drag.isClick && Math.abs(event.clientX - drag.x) < PAN) return;
    drag.isClick = false;
    this.onHover(undefined);
    const from = Math.floor(Math.min(slot, drag.fixed));
    this.onSelect(from, Math.max(from + 1, Math.ceil(Math.max(slot, drag.fixed))));
  }

  #release(event) {
    const drag = this.#drag;
    this.#drag = null;
    const thread = this.#threadAt(event);
    if (drag?.isClick && thread !== undefined) this.onChoose(this.threads.isChosen(thread) ? null : new Set([thread]));
  }

  #lines(thread, slot) {
    const lines = [`${this.threads.nameOf(thread)} ${this.threads.numberOf(thread)}`, this.strip.spanOf(slot)];
    this.#bandsOf(thread).forEach((band, i) => {
      if (band[slot] > 0) lines.push(`${BANDS[i]}: ${spell(band[slot])}`);
    });
    return lines;
  }
}
