// Waits for work are drawn narrower: see idle.go.

const IDLE_PERCENT = 6, BUSY_PERCENT = 1;

const isIdle = (t, i) => t.idle > 0 && i >= t.idle && i < t.end[t.idle];

// foldsIdle is whether waits for work are drawn narrower, and without what is above them: not where there is next to nothing else.
const foldsIdle = (t, widths) => t.idle > 0 && (widths[0] - widths[t.idle]) * 100 >= widths[0] * BUSY_PERCENT;

// drawnWidths are the widths that frames are drawn with if one of them is zoomed: among waits for work all have their own.
function drawnWidths(t, widths, zoomed) {
  if (zoomed > 0 || !foldsIdle(t, widths)) return widths;
  const idle = widths[t.idle], busy = widths[0] - idle;
  if (idle * (100 - IDLE_PERCENT) <= busy * IDLE_PERCENT) return widths;
  const part = busy * IDLE_PERCENT / (100 - IDLE_PERCENT) / idle;
  const drawn = widths.map((width, i) => (isIdle(t, i) ? Math.floor(width * part) : width));
  drawn[0] = busy + drawn[t.idle];
  return drawn;
}

// wholeOf is the time that a frame's share is of, and what to call it.
const wholeOf = (t, i) => (foldsIdle(t, t.now) && i > 0 && !isIdle(t, i) ? [t.now[0] - t.now[t.idle], 'all but [idle]'] : [t.now[0], 'all']);
