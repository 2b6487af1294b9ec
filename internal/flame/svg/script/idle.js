// Waits for work are drawn narrower: see idle.go.

const IDLE_PERCENT = 6;

const isIdle = (t, i) => t.idle > 0 && i >= t.idle && i < t.end[t.idle];

// drawnWidths are the widths that frames are drawn with if one of them is zoomed: among waits for work all have their own.
function drawnWidths(t, widths, zoomed) {
  const idle = t.idle > 0 ? widths[t.idle] : 0, busy = widths[0] - idle;
  if (zoomed > 0 || busy === 0 || idle * (100 - IDLE_PERCENT) <= busy * IDLE_PERCENT) return widths;
  const part = busy * IDLE_PERCENT / (100 - IDLE_PERCENT) / idle;
  const drawn = widths.map((width, i) => (isIdle(t, i) ? Math.floor(width * part) : width));
  drawn[0] = busy + drawn[t.idle];
  return drawn;
}

// wholeOf is the time that a frame's share is of, and what to call it.
const wholeOf = (t, i) => (t.idle > 0 && i > 0 && !isIdle(t, i) ? [t.now[0] - t.now[t.idle], 'all but [idle]'] : [t.now[0], 'all']);
