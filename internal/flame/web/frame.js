// Kinds of frames, their colours, and texts about their time.

const KIND = {user: 0, kernel: 1, root: 2, note: 3, delay: 4, python: 5, awaiting: 6, small: 7, wait: 8}; // wait and above: by the class of the wait
const KINDS = ['Function', 'Kernel function', 'Process, thread or CPU', 'Note', 'Waiting for a CPU', 'Function of Python or Ruby', 'Coroutine that awaits', 'Small frames, with all above them',
  ...Array(32).fill('What threads waited for')];

const isFunction = (kind) => kind === KIND.user || kind === KIND.kernel || kind === KIND.python || kind === KIND.awaiting;

// coloursOf is the number of the set of colours of a kind of function: see TimeTones in palette.go.
const coloursOf = (kind) => (kind === KIND.kernel ? 1 : kind === KIND.python ? 2 : kind === KIND.awaiting ? 3 : 0);

const SHARES = 9; // colours from only off-CPU time, 0, to only on-CPU time
const SHADES = 3; // to distinguish neighbours

// toneOf is the name of a frame's colour in internal/flame/web/palette.go, by its times. Frames with the same symbol have the same
// shade.
function toneOf(kind, symbol, on, off) {
  if (kind >= KIND.wait) return `wait-${kind - KIND.wait}`;
  switch (kind) {
    case KIND.small: return 'small';
    case KIND.root: return 'root';
    case KIND.delay: return 'delay';
    case KIND.note: return on > 0 && off === 0 ? 'note-on' : off > 0 && on === 0 ? 'note-off' : 'note';
  }
  if (on + off === 0) return 'unknown';
  const share = Math.floor(on / (on + off) * (SHARES - 1) + 0.5) + coloursOf(kind) * SHARES;
  return `t${share * SHADES + symbol % SHADES}`;
}

// splitOf lists a time by what threads did in it; parts of 0 are left out.
const splitOf = (on, off, unknown) => [['on CPU', on], ['off CPU', off], ['unknown', unknown]].filter(([, ns]) => ns > 0);

// describeSplit is that list as text.
function describeSplit(split) {
  if (split.length === 1) return `All of it ${split[0][0]}`;
  const shares = percents(split.map(([, ns]) => ns));
  return split.map(([what, ns], part) => `${spell(ns)} ${what} (${shares[part]})`).join(', ');
}

// sharesOf describes a time as a share of all, or of what name says, and, if there is one, of the zoomed frame's time.
const sharesOf = (ns, all, zoomed, name = 'all') => `${percent(ns, all)} of ${name}${zoomed ? `, ${percent(ns, zoomed)} of zoomed` : ''}`;

// describeTime is two lines: a frame's time, and how much of it is not in the frames above it.
function describeTime(time, self, shares, amount) {
  const whole = `${amount(time)}, ${shares}`;
  return self > 0 && self < time ? [whole, `${amount(self)} of it itself`] : [whole];
}

const STEPS = 6; // colours by growth, and as many by shrinkage

// changeTone is the name of a frame's colour by how much it grew or shrank, as a share of the whole.
function changeTone(kind, now, before, whole) {
  const change = now - before;
  const strength = change === 0 ? 0 : Math.floor(Math.min(1, 2 * Math.sqrt(Math.abs(change) / whole)) * STEPS + 0.5);
  return `d${STEPS + Math.sign(change) * strength + (kind === KIND.kernel ? 2 * STEPS + 1 : 0)}`;
}

// describeChange describes a change of time: absolute, relative, and in its share of all.
function describeChange(now, before, allNow, allBefore, amount) {
  if (before === 0) return 'New';
  if (now === 0) return 'Gone';
  const points = 100 * (now / allNow - before / allBefore);
  const share = trimmed(Math.abs(points).toFixed(2));
  const ofAll = share === '0' ? 'the same share' : `${points < 0 ? '−' : '+'}${share} points`;
  if (now === before) return `The same, ${ofAll}`;
  const sign = now > before ? '+' : '−', change = Math.abs(now - before);
  return `${sign}${amount(change)} (${sign}${percent(change, before)}), ${ofAll}`;
}
