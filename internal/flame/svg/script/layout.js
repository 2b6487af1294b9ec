// The positions of frames. Edges are whole pixels: a narrower frame is drawn if it covers the middle of a pixel.

// layOut gives the zoomed frame and those below it the whole width, and those above it a part by their own widths. It returns for
// each level the frames on it from left to right. Without folded, the levels above waits for work are among them.
function layOut(t, widths, zoomed, width, folded) {
  const {margin} = t.look;
  const rows = Array.from({length: t.rows}, () => []);
  for (let i = t.parent[zoomed]; i >= 0; i = t.parent[i]) rows[t.depth[i]].push({frame: i, left: margin, right: width - margin, past: true});
  const whole = widths[zoomed];
  if (!(whole > 0)) return rows;
  const pixel = (ns) => margin + Math.floor(ns / whole * (width - 2 * margin) + 0.5);
  const next = new Float64Array(t.end[zoomed] - zoomed); // where the next frame on each begins
  for (let i = zoomed; i < t.end[zoomed];) {
    let from = 0;
    if (i > zoomed) {
      const below = t.parent[i] - zoomed;
      from = next[below];
      next[below] += widths[i];
    }
    next[i - zoomed] = from;
    const left = pixel(from), right = pixel(from + widths[i]);
    if (right > left) rows[t.depth[i]].push({frame: i, left, right, past: false});
    i = right > left && (zoomed > 0 || !folded || i !== t.idle) ? i + 1 : t.end[i]; // waits for work are folded
  }
  return rows;
}

// levelsOf is the number of levels with a visible frame.
const levelsOf = (rows) => rows.findLastIndex((row) => row.length > 0) + 1;

// under is the place in a row at a pixel.
function under(row, x) {
  let low = 0, high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle].right <= x) low = middle + 1; else high = middle;
  }
  return row[low] && row[low].left <= x ? row[low] : null;
}
