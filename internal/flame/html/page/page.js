const at = (selector) => document.querySelector(selector);

// Page holds the view, and passes it to the parts of the page that show it.
class Page {
  #merging = 0; // number of the newest view; work for older ones stops
  searched = '';
  shows = 'graph'; // or 'table'
  #shaped; // the newest shape, and its view

  constructor(about, profile) {
    this.about = about;
    this.profile = profile;
    this.view = new View({...about.view, threads: null});
    this.isIcicle = false;
    this.flame = new Flame(profile, at('#scroller'), at('#flame'), at('#space'));
    this.boxText = new BoxText(this.flame);
    this.tooltip = new Tooltip(at('#tooltip'));
    this.details = new Details(this.boxText, at('#details'));
    this.functions = new FunctionTable(profile, at('#table'));
    this.crumbs = new Crumbs(at('#crumbs'));
    this.controls = new Controls(profile, at('#controls'));
    this.threads = new Threads(profile, at('#threads'));
    this.strip = profile.slots > 0 ? new Strip(profile, about.origin, about.span, at('#strip')) : null;
    this.lanes = this.strip && new Lanes(profile, this.strip, this.threads, at('#lanes'));
    this.link = new Link(this);
    at('#time').hidden = !this.strip;
    this.#connect();
    this.#paint();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#paint());
  }

  #connect() {
    const {flame, controls} = this;
    flame.onHover = (box, event) => this.tooltip.show(box && this.boxText.lines(box), event);
    flame.onFocus = (node) => this.#focus(node);
    flame.onZoom = () => {
      this.crumbs.show(flame);
      this.#showFound();
      this.link.changed();
    };
    this.details.onCaller = (node) => flame.zoom(node);
    this.crumbs.onChoose = (node) => flame.zoom(node);
    this.threads.onChoose = (threads) => this.change({threads});
    this.threads.onArrange = () => this.link.changed();
    controls.onView = (values) => this.change(values);
    this.functions.onChoose = () => this.link.changed();
    this.functions.onFind = (name) => this.#findInGraph(name);
    controls.onShows = (what) => this.turnTo(what);
    controls.onFlip = (isIcicle) => this.flip(isIcicle);
    controls.onSearch = (text) => this.search(text);
    controls.onReset = () => this.reset();
    at('#link').addEventListener('click', (event) => {
      this.link.write();
      copy(location.href, event.target);
    });
    at('#help-button').addEventListener('click', () => at('#help').showModal());
    at('#whole').addEventListener('click', () => this.change({from: 0, to: 0}));
    if (this.strip) {
      this.strip.onSelect = (from, to) => this.change({from, to});
      this.strip.onHover = (lines, event) => this.tooltip.show(lines, event);
      this.lanes.onSelect = this.strip.onSelect;
      this.lanes.onHover = this.strip.onHover;
      this.lanes.onChoose = (threads) => this.change({threads});
      this.threads.onList = () => this.lanes.draw();
      at('#lanes-button').addEventListener('click', () => this.openLanes(!this.lanes.isOpen));
    }
    document.addEventListener('keydown', (event) => this.#key(event));
  }

  #paint() {
    this.palette = new Palette(getComputedStyle(document.documentElement));
    this.flame.paint(this.palette);
    this.strip?.paint(this.palette);
    this.lanes?.draw();
    this.#legend();
  }

  openLanes(isOpen) {
    this.lanes?.open(isOpen);
    at('#lanes-button').setAttribute('aria-pressed', isOpen);
    this.link.changed();
  }

  #legend() {
    const {palette, profile} = this;
    const swatch = (fill) => {
      const box = document.createElement('i');
      box.style.background = fill;
      return box;
    };
    const item = (text, ...fills) => {
      const swatches = document.createElement('span');
      swatches.className = 'swatches';
      swatches.append(...fills.map(swatch));
      const entry = document.createElement('span');
      entry.append(swatches, text);
      return entry;
    };
    const user = (share) => palette.tones[`t${share * SHADES + 1}`].fill;
    if (profile.base) {
      const change = (step) => palette.tones[`d${STEPS + step}`].fill;
      const steps = Array.from({length: STEPS}, (_, i) => i + 1);
      at('#colours').replaceChildren(item('shrank', ...steps.map((n) => change(-n)).reverse()), item('same', change(0)),
        item('grew, by share of the whole', ...steps.map(change)), item('width: the larger of both'));
    } else at('#colours').replaceChildren(
      item('on CPU', user(8)), item('off CPU', user(0)), item('on and off', user(4)), item('on CPU, kernel', user(17)),
      item('off CPU, kernel', user(9)), ...(profile.nameKind.includes(KIND.python) ? [item('on CPU, Python or Ruby', user(26)), item('off CPU, Python or Ruby', user(18))] : []),
      ...(profile.nameKind.includes(KIND.awaiting) ? [item('on CPU, awaiting', user(35)), item('off CPU, awaiting', user(27))] : []),
      ...this.#waits().map(([kind, name]) => item(name, palette.tones[`wait-${kind - KIND.wait}`].fill)), item('process, thread or CPU', palette.tones.root.fill),
      item('runnable', palette.tones.delay.fill),
      item('[note]', palette.tones['note-on'].fill, palette.tones['note-off'].fill, palette.tones.note.fill),
      item('waits for work', palette.tones.idle.fill), item('small frames', palette.tones.small.fill), item('unknown', palette.tones.unknown.fill),
    );
    at('#bands').replaceChildren(...BANDS.map((text, i) => item(text, palette.times[i])));
    if (this.strip?.bands) this.#showStrip();
  }

  // waits are the classes of what threads waited for, if the graph has them: the kinds of their frames, and their names. Frames of
  // the unknown class, which is the first one, have the names of states.
  #waits() {
    const {kindWait, name, nameKind} = this.profile;
    const kinds = new Map(this.view.by === BY.wait ? Array.from(kindWait, (wait) => [nameKind[wait], name[wait]]) : []);
    return [...kinds].filter(([kind]) => kind > KIND.wait).sort(([a], [b]) => a - b);
  }

  // change shows another view; the promise resolves when it is shown.
  change(values) {
    const before = this.view;
    this.view = before.with(values);
    this.rendered = this.#show(before);
    return this.rendered;
  }

  // restore shows what the address's fragment says.
  restore() {
    this.rendered = this.#restore(this.link.read());
    return this.rendered;
  }

  async #restore({view, isIcicle, hasLanes, shows, filter, order, sort, searched, zoom, chosen}) {
    this.view = new View(view);
    this.isIcicle = isIcicle;
    this.flame.isIcicle = isIcicle;
    this.threads.arrangeBy(filter, order);
    this.openLanes(hasLanes);
    this.shows = shows;
    this.functions.arrangeBy(sort);
    this.functions.chosen = Math.max(0, this.profile.name.indexOf(chosen));
    this.#placeMain();
    this.controls.search.value = searched;
    this.#find(searched);
    const number = this.#merging + 1;
    await this.#show(null);
    if (number !== this.#merging) return this.rendered;
    const {graph} = this.flame;
    const node = graph.find(zoom, (at, name) => this.flame.name(at) === name);
    if (node !== this.flame.zoomed) this.flame.zoom(node);
    return undefined;
  }

  async #show(before) {
    const {view} = this;
    const differs = (...names) => !before || names.some((name) => before[name] !== view[name]);
    const number = ++this.#merging;
    this.#caption();
    this.controls.show(view, this.isIcicle, this.shows);
    if (differs('by')) this.#legend();
    if (differs('mode', 'idle', 'fold', 'threads')) this.#showStrip();
    else this.strip?.select(view);
    this.lanes?.show(view);
    if (!differs('from', 'to')) this.threads.choose(view);
    at('#graph').setAttribute('aria-busy', true);
    const graph = await inSlices(this.#buildGraph(view), () => number !== this.#merging);
    if (!graph) return this.rendered;
    at('#graph').setAttribute('aria-busy', false);
    at('#nothing').hidden = graph.width[0] > 0;
    this.flame.show(graph);
    this.#subtitle(graph.quality);
    this.#searchGraph();
    this.crumbs.show(this.flame);
    this.details.show(this.flame.focused, view.reverse);
    if (this.shows === 'table') {
      const sums = await inSlices(this.#sumFunctions(view), () => number !== this.#merging);
      if (!sums) return this.rendered;
      this.functions.show(sums, this.finder);
    }
    if (differs('from', 'to')) this.threads.show(view); // last: with many threads it takes longer than a frame
    this.link.changed();
    return undefined;
  }

  #showStrip() {
    if (!this.strip) return;
    this.strip.show(this.view);
    this.strip.bands.forEach((band, i) => { at('#bands').children[i].hidden = band.every((ns) => ns === 0); });
  }

  // buildGraph rebuilds the shape only if more than the range has changed.
  *#buildGraph(view) {
    const names = ['mode', 'by', 'states', 'reverse', 'idle', 'fold', 'threads'];
    if (!this.#shaped || names.some((name) => this.#shaped.view[name] !== view[name])) {
      this.#shaped = {view, ...yield* shapeOf(this.profile, view)};
    }
    return yield* graphOf(this.profile, view, this.#shaped);
  }

  // sumFunctions adds up functions without roots, and without waits for work if these are folded.
  *#sumFunctions(view) {
    const plain = view.with({by: BY.none, reverse: false, states: false, fold: false, idle: view.idle && !view.fold});
    const graph = yield* graphOf(this.profile, plain, yield* shapeOf(this.profile, plain));
    return yield* sumsByFunction(graph, this.profile.name.length);
  }

  // turnTo shows the graph or the table.
  turnTo(what) {
    this.shows = what;
    this.#placeMain();
    return this.change({});
  }

  #placeMain() {
    const isTable = this.shows === 'table';
    for (const selector of ['#crumbs', '#scroller', '#colours']) at(selector).hidden = isTable;
    at('#table').hidden = !isTable;
  }

  // findInGraph searches for a function by its name.
  #findInGraph(name) {
    this.controls.search.value = name;
    this.search(name);
    return this.turnTo('graph');
  }

  #caption() {
    at('h1').textContent = document.title = this.about.captions[this.view.mode].title;
    if (!this.strip) return;
    const range = this.view.isRange;
    at('#whole').hidden = !range;
    queueMicrotask(() => {
      at('#range').textContent = this.strip.text();
      at('#scale').textContent = this.strip.scaleText();
    });
  }

  // subtitle shows how well the time on the CPU is sampled between what else the caption says.
  #subtitle(quality) {
    const {before, after} = this.about.captions[this.view.mode];
    const sampled = this.view.has(CLASS.onCPU) ? quality.texts(this.about) : [];
    at('#subtitle').textContent = [before, ...sampled, ...after].join(' · ');
  }

  flip(isIcicle) {
    this.isIcicle = isIcicle;
    this.flame.flip(isIcicle);
    this.controls.show(this.view, isIcicle, this.shows);
    this.link.changed();
  }

  search(text) {
    this.#find(text);
    this.#searchGraph();
    if (this.functions.sums) this.functions.show(this.functions.sums, this.finder);
    this.link.changed();
  }

  #find(text) {
    this.searched = text;
    this.finder = text ? new Search(this.profile, text) : null;
  }

  // searchGraph marks what the search finds in the current graph.
  #searchGraph() {
    this.finder?.searchGraph(this.flame.graph);
    this.flame.mark(this.finder);
    this.#showFound();
  }

  #showFound() {
    const {finder, flame} = this;
    const found = at('#found');
    found.value = finder ? finder.text(flame.zoomed) : '';
    found.title = finder ? `${spell(finder.ns(0))} in ${counted(finder.frames, 'frame')}, ${searchKind(finder.matches)}` : '';
  }

  reset() {
    this.controls.search.value = '';
    this.search('');
    this.flame.zoom(0);
    return this.change({from: 0, to: 0, threads: null});
  }

  // back undoes the search, zoom, range or selection of threads: the first of these that is set.
  back() {
    if (this.searched) {
      this.controls.search.value = '';
      this.search('');
    } else if (!this.flame.isWhole) this.flame.zoom(0);
    else if (this.view.isRange) this.change({from: 0, to: 0});
    else if (this.view.threads) this.change({threads: null});
  }

  #focus(node) {
    this.details.show(node, this.view.reverse);
    at('#status').textContent = this.boxText.lines({node, count: 1}).join('. ');
  }

  #key(event) {
    if (at('#help').open) return;
    if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
      this.#focusSearch(event);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isField = event.target.matches('input[type=search], select');
    if (event.key === 'Escape') this.#escape(event.target);
    else if (event.key === 'Enter' && event.target.id === 'search') this.#next();
    else if (!isField && !this.#move(event) && !this.#command(event)) return;
    else if (isField) return;
    event.preventDefault();
  }

  #focusSearch(event) {
    event.preventDefault();
    this.controls.search.focus();
    this.controls.search.select();
  }

  // escape undoes one step. In the filter field of the thread list it only clears that field and leaves it.
  #escape(from) {
    const filter = at('#threads input');
    if (from === filter) {
      filter.value = '';
      filter.dispatchEvent(new Event('input'));
    } else this.back();
    if (from.matches('input')) at('#flame').focus();
  }

  // next moves the focus to the next frame that a search found.
  #next() {
    const drawn = this.flame.rows.flat().filter((box) => this.finder?.has(box)).map((box) => box.node);
    if (drawn.length === 0) return;
    this.flame.focus(drawn[(drawn.indexOf(this.flame.focused) + 1) % drawn.length]);
  }

  // Arrows and Enter go to the focused element if it handles them.
  #move(event) {
    if (event.target !== document.body && event.target.id !== 'flame') return false;
    if (event.key.startsWith('Arrow')) this.flame.step(event.key);
    else if (event.key === 'Enter' || event.key === ' ') this.flame.enter();
    else if (event.key === 'Backspace') this.flame.zoom(Math.max(0, this.flame.graph.parent[this.flame.zoomed]));
    else return false;
    return true;
  }

  #command({key}) {
    const {view, controls} = this;
    const commands = {
      '1': () => this.change({mode: MODE.wall}),
      '2': () => this.change({mode: MODE.onCPU}),
      '3': () => this.change({mode: MODE.offCPU}),
      '4': () => this.profile.hasWakes && this.change({mode: MODE.waker}),
      'r': () => this.change({reverse: !view.reverse}),
      'l': () => this.openLanes(!this.lanes?.isOpen),
      'v': () => this.turnTo(this.shows === 'graph' ? 'table' : 'graph'),
      'i': () => this.flip(!this.isIcicle),
      's': () => this.change({states: !view.states}),
      'w': () => this.change({idle: !view.idle}),
      'f': () => this.change({fold: !view.fold}),
      'b': () => this.change({by: this.#nextRoot()}),
      'n': () => this.#next(),
      't': () => at('#threads input').focus(),
      '/': () => controls.search.focus(),
      '?': () => at('#help').showModal(),
      '+': () => this.flame.scale(0.5),
      '=': () => this.flame.scale(0.5),
      '-': () => this.flame.scale(2),
      'c': () => at('.copy-name').click(),
      'Home': () => this.reset(),
    };
    if (!Object.hasOwn(commands, key)) return false;
    commands[key]();
    return true;
  }

  #nextRoot() {
    const all = rootsOf(this.profile);
    return all[(all.indexOf(this.view.by) + 1) % all.length];
  }
}

async function open() {
  const about = JSON.parse(at('#about').textContent);
  const packed = await Packed.open(document.querySelectorAll('script[type="application/octet-stream"]'), about.bytes);
  const page = new Page(about, new Profile(about, packed));
  at('#wait').remove();
  globalThis.wprof = page; // for the browser's console
  await page.restore();
  page.opened = performance.now();
}

open().catch((error) => {
  at('#trouble').textContent = `Cannot show this profile: ${error.message}`;
  console.error(error);
});
