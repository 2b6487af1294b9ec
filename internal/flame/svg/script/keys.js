// The keyboard: arrows move the focus from frame to frame as they lie on the screen.

// neighbour is the frame beside another one in a direction; the same one at the edge.
function neighbour(t, state, frame, key) {
  const row = state.rows[t.depth[frame]], at = row.findIndex((spot) => spot.frame === frame);
  if (at < 0) return state.zoomed;
  if (key === 'ArrowLeft') return row[Math.max(0, at - 1)].frame;
  if (key === 'ArrowRight') return row[Math.min(row.length - 1, at + 1)].frame;
  if ((key === 'ArrowDown') !== state.icicle) return Math.max(0, t.parent[frame]);
  // Of those above, the widest one: that is where the time is.
  const above = (state.rows[t.depth[frame] + 1] ?? []).filter((spot) => t.parent[spot.frame] === frame);
  return above.reduce((widest, spot) => !widest || spot.right - spot.left > widest.right - widest.left ? spot : widest, null)?.frame ?? frame;
}

// nextFound is the next frame of a search that is drawn, after another one.
function nextFound(state, after) {
  const drawn = state.rows.flat().filter((spot) => state.found?.frames[spot.frame]).map((spot) => spot.frame).sort((a, b) => a - b);
  return drawn.find((frame) => frame > after) ?? drawn[0] ?? null;
}

// listen handles keys by the functions of act.
function listen(svg, tools, act) {
  const target = svg === document.documentElement ? document : svg;
  target.addEventListener('keydown', (event) => {
    const searching = event.target === tools.search;
    const {key} = event;
    if ((event.ctrlKey || event.metaKey) && key === 'f' && !searching) return take(event, act.search);
    if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
    if (key === 'Escape') return take(event, act.back);
    if (searching) return key === 'Enter' ? take(event, act.next) : undefined;
    if (key === '/') return take(event, act.search);
    if (key.startsWith('Arrow')) return take(event, () => act.move(key));
    if (key === 'Home') return take(event, act.home);
    if (event.target.localName === 'button') return undefined;
    if (key === 'Enter' || key === ' ') return take(event, act.zoom);
    if (key === 'Backspace') return take(event, act.out);
    if (key === 'n') return take(event, act.next);
    if (key === 'i') return take(event, act.flip);
    if (key === 'w') return take(event, act.widths);
    return undefined;
  });
}

function take(event, act) {
  event.preventDefault();
  act();
}
