// Link keeps what is shown in the fragment of the page's address: a link to it shows the same again, in any copy of the file. It
// leaves out what the page opens with.
class Link {
  #written = '';
  #timer = 0;

  constructor(page) {
    this.page = page;
    addEventListener('hashchange', () => {
      if (location.hash.slice(1) !== this.#written) page.restore();
    });
  }

  // changed writes the fragment soon: while a range is dragged it changes with every move of the mouse, and browsers limit that.
  changed() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.write(), 200);
  }

  write() {
    clearTimeout(this.#timer);
    const text = encodedState(this.page);
    if (text === this.#written) return;
    this.#written = text;
    history.replaceState(null, '', `#${text}`);
  }

  // read is what the fragment says, without what this page does not have.
  read() {
    this.#written = location.hash.slice(1);
    return decodedState(this.#written, this.page);
  }
}

const VIEW_FLAGS = ['states', 'reverse', 'idle', 'fold'];

function encodedState({about, view, flame, threads, functions, lanes, isIcicle, shows, searched, profile}) {
  const parts = [];
  const put = (key, value) => parts.push(`${key}=${value}`);
  const nameIn = (all, value) => Object.keys(all).find((name) => all[name] === value);
  const first = about.view;
  if (view.mode !== first.mode) put('time', nameIn(MODE, view.mode));
  if (view.by !== first.by) put('by', nameIn(BY, view.by));
  for (const flag of VIEW_FLAGS) if (view[flag] !== first[flag]) put(flag, Number(view[flag]));
  if (isIcicle) put('icicle', 1);
  if (view.from !== first.from || view.to !== first.to) put('range', `${view.from * profile.slot}-${view.to * profile.slot}`);
  if (view.threads) put('threads', rangesOf(view.threads));
  if (threads.filter) put('filter', encodeURIComponent(threads.filter));
  if (threads.order !== Threads.usualOrder) put('order', threads.order);
  if (lanes?.isOpen) put('lanes', 1);
  if (shows !== 'graph') put('show', shows);
  if (functions.chosen > 0) put('function', encodeURIComponent(profile.name[functions.chosen]));
  if (functions.order !== FunctionTable.usualOrder) put('sort', functions.order);
  if (searched) put('search', encodeURIComponent(searched));
  if (flame.graph && flame.zoomed > 0) put('zoom', flame.graph.path(flame.zoomed).map((node) => encodeURIComponent(flame.name(node))).join('/'));
  return parts.join('&');
}

// decodedState is the state in a fragment: the values of the view, isIcicle, hasLanes, shows, the chosen function, filter, order, searched, and zoom, a list of names.
// Anyone may have written it.
function decodedState(text, {about, profile}) {
  const fields = new Map(text.split('&').map((part) => part.split('=', 2)));
  const get = (key) => fields.get(key) ?? '';
  const view = {...about.view, threads: null};
  const valueIn = (all, name) => (Object.hasOwn(all, name) ? all[name] : undefined);
  const mode = valueIn(MODE, get('time'));
  if (mode !== undefined && (mode !== MODE.waker || profile.hasWakes)) view.mode = mode;
  const by = valueIn(BY, get('by'));
  if (rootsOf(profile).includes(by)) view.by = by;
  for (const flag of VIEW_FLAGS) if (fields.has(flag)) view[flag] = get(flag) === '1';
  const range = get('range').match(/^(\d+)-(\d+)$/);
  if (range && profile.slots > 0) {
    const [from, to] = range.slice(1).map((ns) => Math.min(profile.slots, Math.round(ns / profile.slot)));
    if (from < to) Object.assign(view, {from, to});
    else if (to === 0) Object.assign(view, {from: 0, to: 0});
  }
  const threads = numbersIn(get('threads'), profile.threads);
  if (threads.size > 0) view.threads = threads;
  return {
    view, isIcicle: get('icicle') === '1', hasLanes: get('lanes') === '1', shows: get('show') === 'table' ? 'table' : 'graph', chosen: decodedText(get('function')), filter: decodedText(get('filter')), order: get('order'), sort: get('sort'), searched: decodedText(get('search')),
    zoom: get('zoom') ? get('zoom').split('/').map(decodedText) : [],
  };
}

function decodedText(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return ''; // a part of a link that was cut
  }
}

// rangesOf writes numbers as ranges: 0-3,7.
function rangesOf(numbers) {
  const parts = [];
  for (const n of [...numbers].sort((a, b) => a - b)) {
    const last = parts.at(-1);
    if (last?.[1] === n - 1) last[1] = n;
    else parts.push([n, n]);
  }
  return parts.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(',');
}

// numbersIn reads what rangesOf has written, up to before an end.
function numbersIn(text, end) {
  const numbers = new Set();
  for (const part of text.split(',')) {
    const [, from, to] = part.match(/^(\d+)(?:-(\d+))?$/) ?? [];
    for (let n = Number(from); n <= Math.min(Number(to ?? from), end - 1); n++) numbers.add(n);
  }
  return numbers;
}
