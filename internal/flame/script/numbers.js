// Numbers as people read them: in three digits, as in captions.

const trimmed = (digits) => (digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits);
const grouped = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ',');

function digits(v) {
  if (v >= 999.5) return grouped(v);
  if (v >= 99.95) return v.toFixed(0);
  return trimmed(v.toFixed(v >= 9.995 ? 1 : 2));
}

// spell is a time in ns in the unit that suits it.
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

const counted = (n, thing) => `${grouped(n)} ${thing}${n === 1 ? '' : 's'}`;
