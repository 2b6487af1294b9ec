// Minimum width of a separate box, px: narrower siblings are put together, as the mouse cannot hit them.
const SMALL = 1.5;

// Minimum width of what is drawn, px.
const INVISIBLE = 0.5;

// layOut finds the visible boxes of a graph for a width in px and a range in ns: for each level a list from
// left to right. A box of several small siblings has their count and the first of them as its node. It skips
// the nodes above a box that is too small, so its time depends on the visible boxes, not on the size of the graph. Above folded waits
// for work there is nothing until they are zoomed. A box has its drawn width in span, and its time in ns.
function layOut(graph, from, to, width, levels) {
  const rows = Array.from({length: Math.min(levels, graph.levels) + 1}, () => []);
  const scale = width / (to - from);

  const add = (depth, node, count, start, span, ns) => {
    const left = Math.max(0, (start - from) * scale);
    const right = Math.min(width, (start + span - from) * scale);
    if (right - left >= INVISIBLE) rows[depth].push({node, count, start, span, ns, depth, x: left, width: right - left});
  };
  const visit = (node, depth) => {
    add(depth, node, 1, graph.start[node], graph.width[node], graph.total[node]);
    if (node > 0 && node === graph.idle && graph.width[node] * scale < width / 2) return;
    if (depth + 1 < rows.length) children(node, depth + 1);
  };
  const children = (node, depth) => {
    let first = 0;
    let count = 0;
    let end = 0;
    let ns = 0;
    const together = () => {
      if (count > 1) add(depth, first, count, graph.start[first], end - graph.start[first], ns);
      else if (count === 1 && graph.width[first] * scale >= INVISIBLE) visit(first, depth);
      count = 0;
    };
    for (let i = firstAfter(graph, node, from); i < graph.childFrom[node + 1]; i++) {
      const child = graph.child[i];
      if (graph.start[child] >= to) break;
      if (graph.width[child] === 0) continue;
      if (graph.width[child] * scale >= SMALL) {
        together();
        visit(child, depth);
        continue;
      }
      if (count++ === 0) [first, ns] = [child, 0];
      end = graph.start[child] + graph.width[child];
      ns += graph.total[child];
    }
    together();
  };

  if (graph.width[0] > 0) visit(0, 0);
  return rows;
}

// firstAfter is the index of the first child of a node that ends after a position.
function firstAfter(graph, node, position) {
  let low = graph.childFrom[node];
  let high = graph.childFrom[node + 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const child = graph.child[middle];
    if (graph.start[child] + graph.width[child] <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

// boxAt is the box of a row at x; undefined if none is there.
function boxAt(row, x) {
  let low = 0;
  let high = row.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (row[middle].x + row[middle].width <= x) low = middle + 1;
    else high = middle;
  }
  return row[low]?.x <= x ? row[low] : undefined;
}
