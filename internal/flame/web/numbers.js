// Formatting of numbers with three digits, as in captions.

const trimmed = (digits) => (digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits);
const grouped = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ',');

function digits(v) {
  if (v >= 999.5) return grouped(v);
  if (v >= 99.95) return v.toFixed(0);
  return trimmed(v.toFixed(v >= 9.995 ? 1 : 2));
}

// spell formats a time in ns in the largest unit that it reaches.
function spell(ns) {
  for (const [unit, name] of [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs']]) {
    if (ns / unit >= 0.9995) return `${digits(ns / unit)} ${name}`;
  }
  return `${ns} ns`;
}

function percent(part, whole) {
  const v = whole > 0 ? 100 * part / whole : 0;
  if (v > 0 && v < 0.01) return '<0.01%';
  return `${trimmed(v.toFixed(v < 10 ? 2 : 1))}%`;
}

// percents are the shares of all parts of a whole. They all have the number of digits that the smallest one needs, and the largest
// one takes the rounding error, so that they add up to 100%.
function percents(parts) {
  const whole = parts.reduce((sum, part) => sum + part, 0);
  const precision = parts.some((part) => 100 * part / whole < 10) ? 2 : 1;
  const unit = 100 * 10 ** precision;
  const rounded = parts.map((part) => Math.round(part / whole * unit));
  const largest = parts.indexOf(Math.max(...parts));
  rounded[largest] = unit - rounded.reduce((sum, share, i) => (i === largest ? sum : sum + share), 0);
  return rounded.map((share, i) => {
    if (share === 0 && parts[i] > 0) return '<0.01%';
    if (share === unit && parts[i] < whole) return '>99.99%';
    return `${trimmed((share / 10 ** precision).toFixed(precision))}%`;
  });
}

const counted = (n, thing) => `${grouped(n)} ${thing}${n === 1 ? '' : 's'}`;
