// Names that are shortened as in path.go.

// shorter lists shorter forms of a function's name: without the first parts of its path, and then without more of them.
function shorter(name) {
  const forms = [];
  for (let before = '', rest = name; rest;) {
    const word = rest.slice(0, wordEnd(rest));
    rest = rest.slice(word.length);
    let last = word;
    for (const at of partStarts(word)) {
      last = `…${word.slice(at)}`;
      forms.push(before + last + rest);
    }
    before += last;
  }
  return forms;
}

function wordEnd(text) {
  for (let i = 0, depth = 0; i < text.length; i++) {
    depth = nesting(depth, text[i]);
    if (depth === 0 && text[i] === ' ') return i + 1;
  }
  return text.length;
}

function partStarts(word) {
  const starts = [], dots = !/^[^:]+:\d/.test(word);
  for (let i = 0, depth = 0; i < word.length - 1; i++) {
    depth = nesting(depth, word[i]);
    if (depth > 0 || ' :/.'.includes(word[i + 1])) continue;
    if (word[i] === '/' || word.slice(Math.max(0, i - 1), i + 1) === '::' || word[i] === '.' && dots && !CLONE.test(word.slice(i + 1))) starts.push(i + 1);
  }
  return starts;
}

const CLONE = /^(\d|(cold|part|isra|constprop|lto_priv|localalias|llvm)\s*(\.|$))/;

const nesting = (depth, letter) => '<([{'.includes(letter) ? depth + 1 : '>)]}'.includes(letter) ? Math.max(0, depth - 1) : depth;

// cutPlace splits a function's name before the file and line that it ends in, if it does.
function cutPlace(name) {
  const at = name.lastIndexOf(' (');
  return at > 0 && /^ \([^]+:\d+\)$/.test(name.slice(at)) ? [name.slice(0, at), name.slice(at)] : [name, ''];
}

// fitted returns the first form of a name that fits, else what cut leaves of the shortest one. Only functions have paths and places.
// cut(text, place) cuts a text so that a place fits behind it.
function fitted(name, isFunction, fits, cut) {
  if (fits(name)) return name;
  const [text, place] = isFunction ? cutPlace(name) : [name, ''];
  const forms = isFunction ? shorter(text) : [];
  const form = forms.find((form) => fits(form + place));
  return form === undefined ? cutBefore((forms.at(-1) ?? text).replaceAll('…', ''), place, fits, cut) : form + place;
}

// cutBefore cuts a function before its place. A place is shown alone if nothing of the function fits before it, and not at all if it
// does not fit: a part of a line reads as another line.
function cutBefore(text, place, fits, cut) {
  const short = cut(text, place), alone = place.slice(1);
  if (!place || short.replace('…', '')) return short + place;
  return fits(alone) ? alone : cut(text, '');
}
