// Drawing: bars of one fill are one path; labels are texts. The static picture in the file is made in the same way.

function classOf(t, i) {
  if (!t.changes && isIdle(t, i)) return 'idle';
  if (!t.changes) return toneOf(t.kind[i], t.symbol[i], t.on[i], t.off[i]);
  return changeTone(t.kind[i], t.now[i], t.before[i], Math.max(t.now[0], t.before[0]));
}

// levelTop is the upper edge of a level of frames.
const levelTop = (t, state, depth) => state.top + (state.icicle ? depth : state.levels - 1 - depth) * t.look.row;

function draw(svg, t, state) {
  const paths = new Map(), labels = document.createDocumentFragment();
  const widths = t[state.widths];
  state.rows = layOut(t, drawnWidths(t, widths, state.zoomed), state.zoomed, state.width, foldsIdle(t, widths));
  const levels = levelsOf(state.rows);
  if (state.zoomed === 0) state.levelsOfAll = levels;
  state.levels = Math.max(levels, state.levelsOfAll); // no less than without zoom: the root stays where it is
  state.rows.forEach((row, depth) => {
    const y = levelTop(t, state, depth);
    for (const {frame, left, right, past} of row) {
      const hit = state.found?.frames[frame];
      const fill = hit ? 'hit' : past ? 'past' : classOf(t, frame);
      const width = right - left > 2 ? right - left - 1 : right - left;
      paths.set(fill, `${paths.get(fill) ?? ''}M${left} ${y}h${width}v${t.look.bar}h-${width}z`);
      const label = fitting(nameOf(t, frame), isFunction(t.kind[frame]), Math.floor((width - 8) / t.look.letter));
      if (label) labels.append(element(SVG, 'text', {x: left + 4, y: y + 13, ...(hit ? {class: 'on-hit'} : past ? {class: 'on-past'} : {})}, label));
    }
  });
  svg.querySelector('.frames').replaceChildren(...[...paths].map(([fill, d]) => element(SVG, 'path', {class: fill, d})));
  svg.querySelector('.labels').replaceChildren(labels);
}

// placeOf is where a frame is drawn; null if it is too narrow.
const placeOf = (t, state, frame) => state.rows[t.depth[frame]].find((place) => place.frame === frame) ?? null;

// outline puts a rectangle around a place.
function outline(t, state, ring, spot) {
  ring.style.display = spot ? '' : 'none';
  if (spot) place(ring, spot.left - 0.5, levelTop(t, state, t.depth[spot.frame]) - 0.5, Math.max(2, spot.right - spot.left), t.look.bar + 1);
}
