// The details of a frame: beside the mouse or the focused frame, and for screen readers.

// amount formats the time or number that a frame's width stands for.
const amount = (t, n) => (t.counts ? counted(n, 'event') : spell(n));

// describe is the lines of a frame's details; the first one is its name.
function describe(t, i, zoomed) {
  const lines = [nameOf(t, i)];
  if (i > 0) lines.push([KINDS[t.kind[i]], fileOf(t, i)].filter(Boolean).join(' in '));
  if (t.changes) return [...lines, ...differences(t, i)];
  const time = t.now[i];
  const [whole, name] = wholeOf(t, i);
  lines.push(...describeTime(time, t.self[i], sharesOf(time, whole, zoomed && t.now[zoomed], name), (n) => amount(t, n)));
  if (t.events) return t.counts ? lines : [...lines, counted(t.times[i], 'event')];
  lines.push(describeSplit(splitOf(t.on[i], t.off[i], t.unknown[i])));
  lines.push(countsOf(t, i));
  return lines;
}

// countsOf is the number of samples and off-CPU intervals, which the table has as one number, and of waits for a CPU, each the last
// part of an interval.
function countsOf(t, i) {
  if (t.off[i] === 0) return counted(t.times[i], 'sample');
  const off = t.on[i] === 0 ? counted(t.times[i], 'off-CPU interval') : `${counted(t.times[i], 'event')}: samples, off-CPU intervals`;
  return withWaits(t, i, off, t.waits[i]);
}

// withWaits adds the waits for a CPU to a count. A frame [runnable] has only waits.
function withWaits(t, i, count, waits) {
  if (waits === 0) return count;
  const text = `${counted(waits, 'wait')} for a CPU`;
  return t.kind[i] === KIND.delay ? text : `${count}, ${text}`;
}

function differences(t, i) {
  const side = (when, sum, times, waits) => {
    const share = `${when} ${amount(t, sum[i])}, ${percent(sum[i], sum[0])} of all`;
    return t.counts ? share : `${share}, ${withWaits(t, i, counted(times[i], 'time'), waits[i])}`;
  };
  return [side('Now', t.now, t.times, t.waits), side('Before', t.before, t.timesBefore, t.waitsBefore), describeChange(t.now[i], t.before[i], t.now[0], t.before[0], (n) => amount(t, n))];
}

// Tip shows details beside a point and inside the window.
class Tip {
  constructor(svg) {
    this.svg = svg;
    this.box = svg.appendChild(element(SVG, 'foreignObject', {class: 'tip'}));
    this.text = this.box.appendChild(element(XHTML, 'div', {class: 'details'}));
    this.hide();
  }

  hide() {
    this.box.style.display = 'none';
  }

  // show shows lines above or below a point of the picture, at a distance; px.
  show(lines, x, y, away) {
    this.text.replaceChildren(...lines.map((line) => element(XHTML, 'div', {}, line)));
    this.box.style.display = '';
    const around = this.svg.getBoundingClientRect();
    const right = Math.min(around.width, window.innerWidth - around.left), left = Math.max(0, -around.left);
    const top = Math.max(0, -around.top), bottom = Math.min(around.height, window.innerHeight - around.top);
    place(this.box, 0, 0, Math.min(480, right - left), bottom - top);
    const {offsetWidth: width, offsetHeight: height} = this.text;
    const below = y + away + height <= bottom;
    place(this.box, Math.max(left, Math.min(x + 12, right - width - 4)), Math.max(top, below ? y + away : y - away - height), width + 1, height + 1);
  }
}
