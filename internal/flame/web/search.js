// Which names a search finds.

const SLOW_NAME = 5, SLOW_SEARCH = 1000; // ms

// seek finds the names that have a text in them. If none has, the text is a regular expression: names like [runnable] are
// both. Capitals count if there are any. How it was taken is told by asText, and by isSlow that it was given up.
function seek(names, term) {
  const exact = /\p{Lu}/u.test(term);
  const wanted = exact ? term : term.toLowerCase();
  const has = Uint8Array.from(names, (name) => (exact ? name : name.toLowerCase()).includes(wanted));
  if (has.includes(1)) return {has, asText: true, isSlow: false};
  let pattern;
  try {
    pattern = new RegExp(term, exact ? 'u' : 'iu');
  } catch {
    return {has, asText: true, isSlow: false};
  }
  return {has, asText: false, isSlow: !match(names, pattern, term, has)};
}

// match notes which names match; false if that takes too long. How long may double with each letter, and what has begun
// cannot be stopped: so what repeats something is tried on a name's beginning first, and then on more and more of it.
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

// isSlow tries again, as a busy machine makes anything slow once.
function isSlow(pattern, text) {
  for (let tries = 0; tries < 3; tries++) {
    const begin = performance.now();
    pattern.test(text);
    if (performance.now() - begin < SLOW_NAME) return false;
  }
  return true;
}

const TOO_SLOW = 'this regular expression takes too long; make it simpler';
const howSought = ({asText}) => (asText ? 'searched as text' : 'searched as a regular expression');
