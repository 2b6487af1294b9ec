// The start of the script, which replaces the static picture by an interactive one.

const svg = document.currentScript?.ownerSVGElement ?? document.documentElement;
const t = decode(JSON.parse(svg.querySelector('metadata').textContent));
const alone = svg === document.documentElement; // not embedded in another page
const title = svg.querySelector('title').textContent;
const state = {
  zoomed: 0, focused: 0, found: null, rows: [], levels: 0, levelsOfAll: 0, top: 0, width: 0, icicle: t.icicle,
  widths: t.changes ? 'larger' : 'now',
};
const MODES = {larger: 'Width: larger', now: 'Width: now', before: 'Width: before'};

svg.setAttribute('role', 'group');
const hoverRing = svg.appendChild(element(SVG, 'rect', {class: 'ring hover'}));
const focus = svg.appendChild(element(SVG, 'g', {class: 'focus', tabindex: 0, role: 'button'}));
const focusRing = focus.appendChild(element(SVG, 'rect', {class: 'ring'}));
const tools = controls(svg, t);
const tip = new Tip(svg);

const widthNow = () => Math.max(320, Math.floor(alone ? svg.clientWidth || window.innerWidth : svg.getBoundingClientRect().width));

// render draws everything for the available width, which a scroll bar may reduce.
function render() {
  for (let tries = 0; tries < 2 && widthNow() !== state.width; tries++) {
    state.width = widthNow();
    state.top = arrange(svg, tools, title, state.width, t.look.margin) + t.look.gap;
    redraw();
  }
  fit();
  follow();
}

// fit makes the picture as high as its levels, and in a page of its own at least as high as the window: details need room too.
function fit() {
  const height = state.top + state.levels * t.look.row + t.look.margin;
  svg.setAttribute('height', alone ? Math.max(height, window.innerHeight) : height);
}

function redraw() {
  const {levels} = state;
  draw(svg, t, state);
  fit();
  // The root stays where it is on the screen; the first time, this scrolls to it.
  if (alone && !state.icicle) scroll(window.scrollY + (state.levels - levels) * t.look.row);
  tip.hide();
  outline(t, state, hoverRing, null);
  mark();
  tools.reset.disabled = state.zoomed === 0;
  tools.found.textContent = state.found ? result(t, state.found, state.zoomed) : '';
  tools.found.title = state.found ? searchKind(state.found.matches) : '';
  if (tools.widths) tools.widths.textContent = MODES[state.widths];
}

// headRoom is the height that the head covers: 0 in a low window, where it scrolls away.
const headRoom = () => alone && state.top < window.innerHeight / 3 ? state.top : 0;

// follow keeps the head visible.
function follow() {
  tools.head.setAttribute('transform', `translate(0 ${headRoom() ? window.scrollY : 0})`);
}

function scroll(y) {
  window.scrollTo(0, y);
  follow();
}

// reveal scrolls to a level that is outside of the window, or behind the head.
function reveal(depth) {
  if (!alone) return;
  const y = levelTop(t, state, depth);
  if (y < window.scrollY + headRoom()) scroll(y - headRoom());
  else if (y + t.look.row > window.scrollY + window.innerHeight) scroll(y + t.look.row + t.look.margin - window.innerHeight);
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

// move gives a frame the keyboard's focus and shows its details.
function move(frame) {
  state.focused = frame;
  mark();
  focus.focus({preventScroll: true});
  reveal(t.depth[frame]);
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

// back undoes one of these, the first that applies: a search that is being typed, the zoom, a search.
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

// spotAt is the frame drawn under the mouse.
function spotAt(event) {
  const around = svg.getBoundingClientRect();
  const x = event.clientX - around.left, y = event.clientY - around.top;
  const level = Math.floor((y - state.top) / t.look.row);
  const row = state.rows[state.icicle ? level : state.levels - 1 - level];
  return {x, y, spot: row ? under(row, x) : null};
}

const onHead = (event) => event.clientY - tools.head.getBoundingClientRect().top < state.top - t.look.gap;

svg.addEventListener('pointermove', (event) => {
  const {x, y, spot} = spotAt(event);
  const shown = onHead(event) ? null : spot;
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
  if (onHead(event) || !spot) return;
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
svg.removeAttribute('viewBox');
svg.setAttribute('width', '100%');
render();
if (alone) window.addEventListener('scroll', follow);
