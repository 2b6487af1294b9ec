const ROW = 20; // height of a level, px
const PAN = 4; // px that the mouse moves before it counts as dragging

// Flame draws a graph on a canvas of the size of its visible part, and handles mouse and keys. It reports events by
// calling onFocus(box), onHover(box, event) and onZoom(), which its owner sets.
class Flame {
  isIcicle = false;
  isAnimating = false; // during the animation from one range to another
  zoomed = 0; // the node that fills the width
  focused = 0;
  rows = [];
  #from = 0; // what is shown, ns
  #to = 1;
  #search = null;
  #frame = 0; // pending requestAnimationFrame; 0: none
  #drag = null;
  #hovered; // the box under the mouse
  #animations = 0; // a newer animation ends an older one
  #below = 0; // px of the graph below the visible part

  constructor(profile, scroller, canvas, space) {
    Object.assign(this, {profile, scroller, canvas, space});
    this.context = canvas.getContext('2d', {alpha: false});
    this.labels = new Labels(this.context);
    scroller.addEventListener('scroll', () => {
      this.#storeScroll();
      this.draw();
    });
    canvas.addEventListener('pointerdown', (event) => this.#press(event));
    canvas.addEventListener('pointermove', (event) => this.#move(event));
    canvas.addEventListener('pointerup', (event) => this.#release(event));
    canvas.addEventListener('pointercancel', () => { this.#drag = null; });
    canvas.addEventListener('pointerleave', () => this.#hover(undefined));
    canvas.addEventListener('wheel', (event) => this.#wheel(event), {passive: false});
    new ResizeObserver(() => this.resize()).observe(scroller);
  }

  // show replaces the graph. The zoomed frame stays zoomed if the new graph has it.
  show(graph) {
    const names = (node) => this.graph?.path(node).map((at) => this.graph.name[at]) ?? [];
    const [zoomed, focused] = [graph.find(names(this.zoomed)), graph.find(names(this.focused))];
    this.graph = graph;
    this.zoomed = zoomed;
    this.focused = focused;
    this.#hovered = undefined;
    this.#setRange(graph.start[zoomed], graph.start[zoomed] + graph.width[zoomed]);
    this.resize();
    this.#scrollToRoot();
  }

  // mark highlights the result of a search; null for none.
  mark(search) {
    this.#search = search;
    this.draw();
  }

  paint(palette) {
    this.palette = palette;
    this.draw();
  }

  flip(isIcicle) {
    this.isIcicle = isIcicle;
    this.#scrollToRoot();
    this.draw();
  }

  resize() {
    const {clientWidth: width, clientHeight: height} = this.scroller;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(height * devicePixelRatio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    if (this.graph) {
      this.space.style.height = `${Math.max(height, this.#contentHeight())}px`;
      if (!this.isIcicle) this.scroller.scrollTop = this.scroller.scrollHeight - height - this.#below;
      this.#storeScroll();
    }
    this.drawNow(); // an empty canvas would flicker, and it is black
  }

  // storeScroll stores the scroll position that resize restores: stacks stand on the lower edge. When the height has changed, the
  // browser scrolls before resize is called, and that position was not chosen by the user.
  #storeScroll() {
    const {scrollHeight, scrollTop, clientHeight} = this.scroller;
    if (clientHeight === this.height) this.#below = Math.max(0, scrollHeight - scrollTop - clientHeight);
  }

  #contentHeight() {
    return (this.graph.levels + 1) * ROW + 1;
  }

  #scrollToRoot() {
    this.scroller.scrollTop = this.isIcicle ? 0 : this.scroller.scrollHeight;
    this.#storeScroll();
  }

  // top is where a level begins in the canvas, px.
  top(depth) {
    const space = Math.max(this.height, this.#contentHeight());
    return (this.isIcicle ? depth * ROW : space - (depth + 1) * ROW) - this.scroller.scrollTop;
  }

  #depthAt(y) {
    const space = Math.max(this.height, this.#contentHeight());
    const down = y + this.scroller.scrollTop;
    return Math.floor((this.isIcicle ? down : space - down) / ROW);
  }

  draw() {
    this.#frame ||= requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    if (!this.palette || !this.width) return;
    const {context, palette} = this;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.fillStyle = palette.page;
    context.fillRect(0, 0, this.width, this.height);
    if (!this.graph) return;
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    const [one, other] = [this.#depthAt(0), this.#depthAt(this.height)];
    this.rows = layOut(this.graph, this.#from, this.#to, this.width, Math.max(one, other));
    for (const row of this.rows.slice(Math.max(0, Math.min(one, other)))) for (const box of row) this.#box(box);
    this.#rings();
  }

  #box(box) {
    const {context} = this;
    const {fill, ink} = this.#colours(box);
    const y = this.top(box.depth);
    context.fillStyle = fill;
    context.fillRect(box.x, y, box.width > 2 ? box.width - 1 : box.width, ROW - 1);
    if (box.width < 24) return;
    const text = this.labels.fit(this.text(box), box.count <= 1 && isFunction(this.profile.nameKind[this.graph.name[box.node]]), box.width - 9);
    if (!text) return;
    context.fillStyle = ink;
    context.fillText(text, box.x + 4, y + ROW / 2);
  }

  // Callers of the frame that fills the width are faded.
  #colours(box) {
    const {graph, palette, profile} = this;
    if (this.#search?.has(box)) return palette.tones.hit;
    if (box.count > 1) return palette.tones.small;
    const {node} = box;
    if (box.depth < graph.depth[this.zoomed]) return palette.tones.past;
    const kind = profile.nameKind[graph.name[node]];
    if (graph.isCompared) return palette.tones[changeTone(kind, graph.total[node], graph.before[node], Math.max(graph.total[0], graph.before[0]))];
    if (graph.isIdle[node]) return palette.tones.idle;
    return palette.box(graph.name[node], kind, graph.on[node], graph.off[node]);
  }

  text(box) {
    if (box.count > 1) return `(${grouped(box.count)} small frames)`;
    return this.name(box.node);
  }

  name(node) {
    return node === 0 ? 'all' : this.profile.name[this.graph.name[node]];
  }

  // rings are drawn around the box under the mouse and the focused one.
  #rings() {
    const {palette} = this;
    const hovered = this.#hovered && this.boxOf(this.#hovered.node);
    if (hovered) this.#ring(hovered, palette.text, 1);
    const focused = this.boxOf(this.focused);
    if (focused && (this.focused > 0 || document.activeElement === this.canvas)) this.#ring(focused, palette.accent, 2);
  }

  #ring(box, colour, thickness) {
    const {context} = this;
    context.lineWidth = thickness;
    context.strokeStyle = colour;
    const half = thickness / 2;
    context.strokeRect(box.x + half, this.top(box.depth) + half, Math.max(thickness, box.width - 1 - thickness), ROW - 1 - thickness);
  }

  // boxOf is the box that shows a node; undefined if it is not visible.
  boxOf(node) {
    return this.rows[this.graph.depth[node]]?.find((box) => box.node === node);
  }

  // range is the visible range, ns from the left.
  get range() {
    return {from: this.#from, to: this.#to};
  }

  // isWhole is whether the whole width is shown.
  get isWhole() {
    return this.zoomed === 0 && this.#from === 0 && this.#to >= this.graph.width[0];
  }

  // zoom makes a node fill the width, and focuses it.
  zoom(node) {
    this.zoomed = node;
    this.focus(node);
    this.#animate(this.graph.start[node], this.graph.start[node] + this.graph.width[node]);
    this.onZoom();
  }

  // zoomToBox makes a box of small frames fill the width.
  zoomToBox(box) {
    this.zoomed = this.graph.parent[box.node];
    this.focus(box.node);
    this.#animate(box.start, box.start + box.span);
    this.onZoom();
  }

  focus(node) {
    this.focused = node;
    const top = this.top(this.graph.depth[node]);
    if (top < 0) this.scroller.scrollTop += top;
    if (top + ROW > this.height) this.scroller.scrollTop += top + ROW - this.height;
    this.#storeScroll();
    this.draw();
    this.onFocus(node);
  }

  // step moves the focus: along a level, or one level up or down on the screen.
  step(key) {
    const depth = this.graph.depth[this.focused];
    const row = this.rows[depth] ?? [];
    const at = row.findIndex((box) => box.node === this.focused);
    const isOut = (key === 'ArrowUp') !== this.isIcicle; // away from the root
    let next;
    if (key === 'ArrowLeft') next = row[at - 1];
    else if (key === 'ArrowRight') next = row[at + 1];
    else if (isOut) next = this.#largestAbove(row[at]);
    else if (this.focused > 0) next = {node: this.graph.parent[this.focused]};
    if (next) this.focus(next.node);
  }

  #largestAbove(box) {
    if (!box || box.count > 1) return undefined;
    const above = (this.rows[box.depth + 1] ?? []).filter(({node}) => this.graph.parent[node] === box.node);
    return above.reduce((best, other) => (best && best.ns >= other.ns ? best : other), undefined);
  }

  // enter zooms into the focused box.
  enter() {
    const box = this.boxOf(this.focused);
    if (box?.count > 1) this.zoomToBox(box);
    else this.zoom(this.focused);
  }

  // scale zooms in or out around a position, px.
  scale(factor, x = this.width / 2) {
    const span = this.#to - this.#from;
    const at = this.#from + span * x / this.width;
    const next = Math.max(Math.min(span * factor, this.graph.width[0]), this.width); // a pixel is at least 1 ns
    this.#showRange(at - next * x / this.width, next);
  }

  #showRange(from, span) {
    const all = this.graph.width[0];
    const left = Math.max(0, Math.min(from, all - span));
    this.#setRange(left, Math.min(all, left + span));
    this.draw();
  }

  #setRange(from, to) {
    this.#from = from;
    this.#to = Math.max(to, from + 1);
    this.#animations++;
    this.isAnimating = false;
  }

  #animate(from, to) {
    const [fromFirst, toFirst, begin] = [this.#from, this.#to, performance.now()];
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
      this.#setRange(from, to);
      this.draw();
      return;
    }
    const animation = ++this.#animations;
    this.isAnimating = true;
    const step = (now) => {
      if (animation !== this.#animations) return;
      const part = Math.min(1, Math.max(0, (now - begin) / 160));
      const eased = 1 - (1 - part) ** 3;
      this.#from = fromFirst + (from - fromFirst) * eased;
      this.#to = toFirst + (to - toFirst) * eased;
      this.drawNow();
      if (part < 1) requestAnimationFrame(step);
      else this.#setRange(from, to);
    };
    requestAnimationFrame(step);
  }

  #hover(box, event) {
    if (box?.node !== this.#hovered?.node) this.draw();
    this.#hovered = box;
    this.canvas.style.cursor = box ? 'pointer' : 'default';
    this.onHover(box, event);
  }

  #boxAt(event) {
    const bounds = this.canvas.getBoundingClientRect();
    const row = this.rows[this.#depthAt(event.clientY - bounds.top)];
    return row && boxAt(row, event.clientX - bounds.left);
  }

  #press(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.#drag = {x: event.clientX, y: event.clientY, from: this.#from, scroll: this.scroller.scrollTop, isPan: false};
  }

  #move(event) {
    const drag = this.#drag;
    if (!drag) {
      this.#hover(this.#boxAt(event), event);
      return;
    }
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    drag.isPan ||= Math.hypot(dx, dy) > PAN;
    if (!drag.isPan) return;
    this.#hover(undefined);
    this.scroller.scrollTop = drag.scroll - dy;
    const span = this.#to - this.#from;
    this.#showRange(drag.from - dx * span / this.width, span);
  }

  #release(event) {
    const drag = this.#drag;
    this.#drag = null;
    if (!drag || drag.isPan) return;
    const box = this.#boxAt(event);
    if (!box) return;
    if (box.count > 1) this.zoomToBox(box);
    else this.zoom(box.node);
  }

  // The wheel scrolls; with Ctrl, as a pinch does, it zooms; sideways it pans.
  #wheel(event) {
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (event.ctrlKey) {
      event.preventDefault();
      this.scale(Math.exp(Math.max(-50, Math.min(50, event.deltaY)) / 100), event.clientX - this.canvas.getBoundingClientRect().left);
    } else if (sideways !== 0) {
      event.preventDefault();
      const span = this.#to - this.#from;
      this.#showRange(this.#from + sideways * span / this.width, span);
    }
  }
}
