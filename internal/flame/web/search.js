// Searching names.

const SLOW_NAME = 5, SLOW_SEARCH = 1000; // ms

// matchNames finds the names that contain a text. If none does, the text is taken as a regular expression: names like [runnable]
// are valid as both. Case matters if there are capitals. asText is whether it was taken as a text; isSlow is whether the search
// was abandoned because it took too long.
function matchNames(names, term) {
  const exact = /\p{Lu}/u.test(term);
  const needle = exact ? term : term.toLowerCase();
  const has = Uint8Array.from(names, (name) => (exact ? name : name.toLowerCase()).includes(needle));
  if (has.includes(1)) return {has, asText: true, isSlow: false};
  let pattern;
  try {
    pattern = new RegExp(term, exact ? 'u' : 'iu');
  } catch {
    return {has, asText: true, isSlow: false};
  }
  return {has, asText: false, isSlow: !match(names, pattern, term, has)};
}

// match marks the names that match. It returns false if that takes too long. The time may double with each letter, and a running match
// cannot be stopped, so expressions with repetition are tried on longer and longer prefixes of a name.
function match(names, pattern, term, has) {
  const repeats = /[*+{]/.test(term);
  const end = performance.now() + SLOW_SEARCH;
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    for (let n = 8; repeats && n < name.length; n += Math.max(2, n >> 2)) if (isSlow(pattern, name.slice(0, n))) return false;
    has[i] = pattern.test(name);
    if (performance.now() > end) return false;
  }
  return true;
}

// isSlow reports whether a match takes too long each time of three: on a busy machine one may be slow by chance.
function isSlow(pattern, text) {
  for (let tries = 0; tries < 3; tries++) {
    const begin = performance.now();
    pattern.test(text);
    if (performance.now() - begin < SLOW_NAME) return false;
  }
  return true;
}

const TOO_SLOW = 'this regular expression takes too long; make it simpler';
const searchKind = ({asText}) => (asText ? 'searched as text' : 'searched as a regular expression');

// resultOf is the result of a search as text. shareOf returns the share of a frame's time that was found; before is that share of
// all time in the graph that this one is compared with, if there is one.
function resultOf(matches, count, zoomed, shareOf, before) {
  if (matches.isSlow) return TOO_SLOW;
  if (count === 0) return 'not found';
  return `${shareOf(0)} of time${before ? `, before ${before}` : ''}${zoomed ? `, ${shareOf(zoomed)} of zoomed` : ''}`;
}
