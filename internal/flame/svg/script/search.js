// The frames that a search finds, and their share of the time.

// find marks the frames that match. Time in nested matching frames counts once.
function find(t, term) {
  const matches = matchNames(t.names, term);
  const found = {matches, frames: new Uint8Array(t.count), outermost: [], count: 0};
  if (matches.isSlow) return found;
  for (let i = 1, covered = 0; i < t.count; i++) {
    if (t.kind[i] === KIND.small || !matches.has[t.symbol[i]]) continue;
    found.frames[i] = 1;
    found.count++;
    if (i >= covered) {
      found.outermost.push(i);
      covered = t.end[i];
    }
  }
  return found;
}

// share is the share of a frame's time that is in found frames.
function share(t, found, sum, frame) {
  for (let i = frame; i > 0; i = t.parent[i]) if (found.frames[i]) return percent(sum[frame], sum[frame]);
  let ns = 0;
  for (const i of found.outermost) if (i >= frame && i < t.end[frame]) ns += sum[i];
  return percent(ns, sum[frame]);
}

// result is a search's result as text. Small frames have no names to search.
function result(t, found, zoomed) {
  if (found.matches.isSlow) return TOO_SLOW;
  let text = resultOf(found.matches, found.count, zoomed, (frame) => share(t, found, t.now, frame), t.changes && share(t, found, t.before, 0));
  let unseen = 0;
  for (let i = 1; i < t.count; i++) if (t.kind[i] === KIND.small) unseen += t.now[i];
  if (unseen / t.now[0] >= 0.001) text += ` (${percent(unseen, t.now[0])} in small frames not searched)`;
  return text;
}
