// How numbers are written for people.

// timeText has four digits and the largest unit that leaves one before the point.
function timeText(ns) {
  for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]]) {
    if (Math.abs(ns) >= size) return `${fourDigits(ns / size)} ${unit}`;
  }
  return `${ns} ns`;
}

function fourDigits(value) {
  const whole = Math.max(1, Math.floor(Math.log10(Math.abs(value))) + 1);
  return whole >= 4 ? Math.round(value).toLocaleString('en') : value.toFixed(4 - whole);
}

// exactText has every nanosecond.
function exactText(ns) {
  return `${ns.toLocaleString('en')} ns`;
}

// shareText says how much of a whole a part is.
function shareText(part, whole) {
  if (whole === 0) return '0%';
  const percent = 100 * part / whole;
  if (percent > 0 && percent < 0.01) return '<0.01%';
  return `${percent.toFixed(2)}%`;
}

// secondsText is a point in time of the window, as precise as slots of this length need.
function secondsText(ns, slot) {
  const digits = Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(slot))));
  return (ns / 1e9).toFixed(digits);
}

function countText(count, noun) {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
