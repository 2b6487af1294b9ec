// The bands of the strip, from below, in the order of the palette's times: what threads did, by class.
const BANDS = ['on CPU', 'runnable', 'blocked', 'waiting for work', 'unknown'];
const BAND_OF = {
  [CLASS.onCPU]: 0, [CLASS.runnable]: 1, [CLASS.preempted]: 1, [CLASS.throttled]: 1, [CLASS.new]: 2, [CLASS.blocked]: 2, [CLASS.idle]: 3,
  [CLASS.unknown]: 4, [CLASS.interrupt]: 0,
};

const EDGE = 6; // px around an edge of the selection in which it can be dragged

// Strip draws the timeline: what threads did in each slot. A range of slots can be selected by mouse or keys. It reports the
// selection by onSelect(from, to), both 0 for all time, and the slot under the mouse by onHover(lines, event).
class Strip {
  #drag = null;
  #selected = {from: 0, to: 0};

  constructor(profile, origin, span, canvas) {
    Object.assign(this, {profile, origin, span, canvas});
    this.context = canvas.getContext('2d', {alpha: false});
    canvas.addEventListener('pointerdown', (event) => this.#press(event));
    canvas.addEventListener('pointermove', (event) => this.#move(event));
    canvas.addEventListener('pointerup', () => this.#release());
    canvas.addEventListener('pointercancel', () => { this.#drag = null; });
    canvas.addEventListener('pointerleave', () => this.onHover(undefined));
    canvas.addEventListener('keydown', (event) => this.#key(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // show adds up the time of a view's threads in all slots.
  show(view) {
    const {profile} = this;
    const bandOfClass = Object.values(CLASS).map((kind) => (view.has(kind) ? BAND_OF[kind] : -1));
    this.mode = view.mode;
    this.bands = BANDS.map(() => new Float64Array(profile.slots));
    for (let thread = 0; thread < profile.threads; thread++) {
      if (view.hasThread(thread)) this.addThread(thread, this.bands, (kind) => bandOfClass[kind]);
    }
    const totals = this.bands.map((band) => band.reduce((sum, ns) => sum + ns, 0));
    const idle = BAND_OF[CLASS.idle];
    this.isFolded = view.fold && foldsIdle(totals.reduce((sum, ns) => sum + ns, 0), totals[idle]);
    if (this.isFolded) this.bands[idle].fill(0);
    this.sums = new Float64Array(profile.slots);
    for (const band of this.bands) band.forEach((ns, slot) => { this.sums[slot] += ns; });
    this.threads = Math.max(...this.sums.map((ns, slot) => ns / this.lengthOf(slot)), 0);
    this.select(view);
  }

  select(view) {
    this.#selected = {from: view.from, to: Math.min(view.to, this.profile.slots)};
    this.canvas.setAttribute('aria-valuetext', this.text() || 'all time');
    this.draw();
  }

  // addThread adds the time of a thread in all slots to bands; bandOf returns that of a class, or one that there is not.
  addThread(thread, bands, bandOf) {
    const {profile} = this;
    for (let cell = profile.cellsFrom[thread]; cell < profile.cellsFrom[thread + 1]; cell++) {
      const band = bands[bandOf(profile.kindClass[profile.cellKind[cell]])];
      if (!band) continue;
      for (let i = profile.slotTimesFrom[cell]; i < profile.slotTimesFrom[cell + 1]; i++) {
        band[profile.slotTimeSlot[i]] += profile.slotTimeNs[i];
      }
    }
  }

  // lengthOf is the length of a slot, ns: the last one may be shorter.
  lengthOf(slot) {
    return Math.max(1, Math.min(this.profile.slot, this.span - slot * this.profile.slot));
  }

  // text is the selected range; '' if there is none.
  text() {
    const {from, to} = this.#selected;
    if (to === 0) return '';
    const {slot} = this.profile;
    const end = Math.min(to * slot, this.span);
    return `${this.#instant(from * slot)} to ${this.#instant(end)} (${spell(end - from * slot)})`;
  }

  // instant is a point in the strip as time since the recording began.
  #instant(ns) {
    return `${instant(this.origin + ns, this.profile.slot)} s`;
  }

  paint(palette) {
    this.palette = palette;
    this.draw();
  }

  draw() {
    const {canvas, context, palette} = this;
    if (!palette || !this.bands) return;
    this.width = canvas.clientWidth;
    this.height = canvas.clientHeight;
    canvas.width = Math.round(this.width * devicePixelRatio);
    canvas.height = Math.round(this.height * devicePixelRatio);
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.fillStyle = palette.page;
    context.fillRect(0, 0, this.width, this.height);
    this.#drawBands();
    this.#drawSelection();
    this.#drawAxis();
  }

  get #floor() {
    return this.height - 16; // the rest is for the axis
  }

  // x is where a slot begins, on a whole pixel of the screen: columns without seams.
  x(slot) {
    const x = Math.min(1, slot * this.profile.slot / this.span) * this.width;
    return Math.round(x * devicePixelRatio) / devicePixelRatio;
  }

  // slotAt is the slot under the mouse, with a fraction.
  slotAt(event) {
    const x = event.clientX - this.canvas.getBoundingClientRect().left;
    const slot = x / this.width * this.span / this.profile.slot;
    return Math.max(0, Math.min(this.profile.slots, slot));
  }

  // The full height is, with wall time, the sum of the slot's own time; otherwise the largest sum of any slot.
  #drawBands() {
    const {context, palette} = this;
    for (let slot = 0; slot < this.profile.slots; slot++) {
      const x = this.x(slot);
      const width = this.x(slot + 1) - x;
      const whole = this.mode === MODE.wall ? this.sums[slot] : this.threads * this.lengthOf(slot);
      if (whole === 0) continue;
      let y = this.#floor;
      this.bands.forEach((band, i) => {
        const height = band[slot] / whole * (this.#floor - 1);
        context.fillStyle = palette.times[i];
        context.fillRect(x, y - height, width > 8 ? width - 1 : width, height);
        y -= height;
      });
    }
  }

  #drawSelection() {
    const {from, to} = this.#selected;
    if (to === 0) return;
    const {context, palette} = this;
    this.shade(context, this.#floor);
    context.lineWidth = 2;
    context.strokeStyle = palette.accent;
    context.strokeRect(this.x(from) + 1, 1, Math.max(2, this.x(to) - this.x(from) - 2), this.#floor - 1);
  }

  // shade fades what is outside of the selection.
  shade(context, height) {
    const {from, to} = this.#selected;
    if (to === 0) return;
    context.globalAlpha = 0.7;
    context.fillStyle = this.palette.page;
    context.fillRect(0, 0, this.x(from), height);
    context.fillRect(this.x(to), 0, this.width - this.x(to), height);
    context.globalAlpha = 1;
  }

  #drawAxis() {
    const {context, palette} = this;
    const step = niceStep(this.span / Math.max(2, this.width / 90));
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'alphabetic';
    context.fillStyle = palette.line;
    context.fillRect(0, this.#floor, this.width, 1);
    const {origin, span} = this;
    for (let ns = Math.ceil(origin / step) * step; ns <= origin + span; ns += step) {
      const x = (ns - origin) / span * this.width;
      const text = `${Number((ns / 1e9).toPrecision(6))} s`;
      if (x + 4 + context.measureText(text).width > this.width) break;
      context.fillStyle = palette.line;
      context.fillRect(Math.round(x), this.#floor, 1, 5);
      context.fillStyle = palette.faint;
      context.fillText(text, x + 4, this.height - 3);
    }
  }

  // scaleText describes what the full height stands for.
  scaleText() {
    if (this.mode === MODE.wall) return `height: all threads’ time${this.isFolded ? ' but waits for work' : ''}`;
    const most = digits(this.threads);
    return this.mode === MODE.onCPU ? `height: ${most} CPUs` : `height: ${most} threads`;
  }

  #press(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    const {from, to} = this.#selected;
    const slot = this.slotAt(event);
    const near = (edge) => Math.abs(this.x(slot) - this.x(edge)) < EDGE;
    if (to > 0 && near(from)) this.#drag = {fixed: to};
    else if (to > 0 && near(to)) this.#drag = {fixed: from};
    else if (slot > from && slot < to) this.#drag = {grip: slot - from, length: to - from, isClick: true};
    else this.#drag = {fixed: slot, isNew: true, x: event.clientX, isClick: true};
  }

  #move(event) {
    const drag = this.#drag;
    const slot = this.slotAt(event);
    if (!drag) {
      this.#cursor(slot);
      this.onHover(this.#lines(Math.min(Math.floor(slot), this.profile.slots - 1)), event);
      return;
    }
    if (drag.isNew && drag.isClick && Math.abs(event.clientX - drag.x) < PAN) return;
    drag.isClick = false;
    this.onHover(undefined);
    if (drag.length) {
      const from = Math.max(0, Math.min(Math.round(slot - drag.grip), this.profile.slots - drag.length));
      this.onSelect(from, from + drag.length);
      return;
    }
    const from = Math.floor(Math.min(slot, drag.fixed));
    this.onSelect(from, Math.max(from + 1, Math.ceil(Math.max(slot, drag.fixed))));
  }

  // A click without a drag clears the selection.
  #release() {
    const drag = this.#drag;
    this.#drag = null;
    if (drag?.isClick) this.onSelect(0, 0);
  }

  #cursor(slot) {
    const {from, to} = this.#selected;
    const near = (edge) => to > 0 && Math.abs(this.x(slot) - this.x(edge)) < EDGE;
    this.canvas.style.cursor = near(from) || near(to) ? 'ew-resize' : slot > from && slot < to ? 'grab' : 'crosshair';
  }

  // spanOf is the time of a slot.
  spanOf(slot) {
    const {slot: length} = this.profile;
    return `${this.#instant(slot * length)} to ${this.#instant(Math.min((slot + 1) * length, this.span))}`;
  }

  #lines(slot) {
    const lines = [this.spanOf(slot)];
    this.bands.forEach((band, i) => {
      if (band[slot] === 0) return;
      const threads = digits(band[slot] / this.lengthOf(slot));
      lines.push(`${BANDS[i]}: ${percent(band[slot], this.sums[slot])}, ${threads === '1' ? '1 thread' : `${threads} threads`}`);
    });
    return lines;
  }

  // Arrows move the selection, with Shift its end.
  #key(event) {
    const last = this.profile.slots;
    const {from, to} = this.#selected;
    const page = Math.max(1, Math.round(last / 10));
    const by = {ArrowLeft: -1, ArrowRight: 1, PageDown: page, PageUp: -page, Home: -last, End: last}[event.key];
    if (by === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (to === 0) this.onSelect(by < 0 ? last - page : 0, by < 0 ? last : page);
    else if (event.shiftKey) this.onSelect(from, Math.max(from + 1, Math.min(last, to + by)));
    else {
      const moved = Math.max(0, Math.min(last - (to - from), from + by));
      this.onSelect(moved, moved + to - from);
    }
  }
}

// niceStep is the smallest of 1, 2 and 5 times a power of ten that is not less.
function niceStep(ns) {
  const power = 10 ** Math.floor(Math.log10(ns));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= ns);
}
