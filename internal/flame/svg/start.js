// From the still picture to the interactive one.

const svg = document.currentScript?.ownerSVGElement ?? document.documentElement;
const t = decode(JSON.parse(svg.querySelector('metadata').textContent));
const title = svg.querySelector('title').textContent;
const state = {zoomed: 0, focused: 0, found: null, rows: [], top: 0, width: 0, icicle: t.icicle, widths: t.changes ? 'larger' : 'now'};
const MODES = {larger: 'Width: larger', now: 'Width: now', before: 'Width: before'};

svg.setAttribute('role', 'group');
const hoverRing = svg.appendChild(element(SVG, 'rect', {class: 'ring hover'}));
const focus = svg.appendChild(element(SVG, 'g', {class: 'focus', tabindex: 0, role: 'button'}));
const focusRing = focus.appendChild(element(SVG, 'rect', {class: 'ring'}));
const tools = controls(svg, t);
const tip = new Tip(svg);

// render draws everything for the width that there is.
function render() {
  const whole = svg === document.documentElement;
  svg.removeAttribute('viewBox');
  svg.setAttribute('width', '100%');
  state.width = Math.max(320, Math.floor(whole ? svg.clientWidth || window.innerWidth : svg.getBoundingClientRect().width));
  state.top = arrange(svg, tools, title, state.width, t.look.margin) + t.look.gap;
  const height = state.top + t.rows * t.look.row + t.look.margin;
  svg.setAttribute('height', whole ? Math.max(height, window.innerHeight) : height);
  redraw();
}

function redraw() {
  draw(svg, t, state);
  tip.hide();
  outline(t, state, hoverRing, null);
  mark();
  tools.reset.disabled = state.zoomed === 0;
  tools.found.textContent = state.found ? result(t, state.found, state.zoomed) : '';
  if (tools.widths) tools.widths.textContent = MODES[state.widths];
}

// mark moves the ring to the focused frame, or to the zoomed one if that is not drawn.
function mark() {
  if (!placeOf(t, state, state.focused)) state.focused = state.zoomed;
  outline(t, state, focusRing, placeOf(t, state, state.focused));
  focus.setAttribute('aria-label', describe(t, state.focused, state.zoomed).join('. '));
}

function zoom(frame) {
  state.zoomed = frame;
  state.focused = frame;
  redraw();
}

// move gives a frame the keyboard's focus and tells of it.
function move(frame) {
  state.focused = frame;
  mark();
  focus.focus({preventScroll: true});
  focusRing.scrollIntoView({block: 'nearest', inline: 'nearest'});
  const spot = placeOf(t, state, state.focused);
  if (!spot) return;
  const lines = describe(t, state.focused, state.zoomed);
  tip.show(lines, (spot.left + Math.min(spot.right, spot.left + 200)) / 2, levelTop(t, state, t.depth[state.focused]) + t.look.bar / 2, t.look.row);
  tools.status.textContent = lines.join('. ');
}

function search() {
  const term = tools.search.value;
  state.found = term ? find(t, term) : null;
  redraw();
}

// back undoes the last thing first: the search that is being typed, the zoom, the search.
function back() {
  if (document.activeElement !== tools.search && state.zoomed) return zoom(0);
  tools.search.value = '';
  if (state.found) search();
  tip.hide();
  focus.focus({preventScroll: true});
}

function flip() {
  state.icicle = !state.icicle;
  redraw();
}

function widths() {
  const names = Object.keys(MODES);
  if (!t.changes) return;
  state.widths = names[(names.indexOf(state.widths) + 1) % names.length];
  if (!(t[state.widths][state.zoomed] > 0)) state.zoomed = 0;
  redraw();
}

// spotAt is what is drawn under the mouse.
function spotAt(event) {
  const around = svg.getBoundingClientRect();
  const x = event.clientX - around.left, y = event.clientY - around.top;
  const level = Math.floor((y - state.top) / t.look.row);
  const row = state.rows[state.icicle ? level : t.rows - 1 - level];
  return {x, y, spot: row ? under(row, x) : null};
}

const onTools = (event) => tools.box.contains(event.target);

svg.addEventListener('pointermove', (event) => {
  const {x, y, spot} = spotAt(event);
  const shown = onTools(event) ? null : spot;
  outline(t, state, hoverRing, shown);
  svg.classList.toggle('over', Boolean(shown));
  if (shown) tip.show(describe(t, shown.frame, state.zoomed), x, y, 16);
  else tip.hide();
});
svg.addEventListener('pointerleave', () => {
  tip.hide();
  outline(t, state, hoverRing, null);
});
svg.addEventListener('click', (event) => {
  const {spot} = spotAt(event);
  if (onTools(event) || !spot) return;
  zoom(spot.frame);
  focus.focus({preventScroll: true});
});
tools.search.addEventListener('input', search);
tools.reset.addEventListener('click', () => zoom(0));
tools.flip.addEventListener('click', flip);
tools.widths?.addEventListener('click', widths);
focus.addEventListener('blur', () => tip.hide());
listen(svg, tools, {
  back, flip, widths,
  search: () => tools.search.select(),
  next: () => {
    const frame = nextFound(state, state.focused);
    if (frame !== null) move(frame);
  },
  move: (key) => move(neighbour(t, state, state.focused, key)),
  home: () => move(state.zoomed),
  zoom: () => zoom(state.focused),
  out: () => zoom(Math.max(0, t.parent[state.zoomed])),
});
window.addEventListener('resize', render);
render();
