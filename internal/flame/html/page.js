const at = (selector) => document.querySelector(selector);

// The page: it has the view, and lets its parts show it.
class Page {
  #merging = 0; // counts views: what a newer one makes useless stops
  #searched = '';

  constructor(about, profile) {
    this.about = about;
    this.profile = profile;
    this.view = new View({...about.view, threads: null});
    this.isIcicle = false;
    this.flame = new Flame(profile, at('#scroller'), at('#flame'), at('#space'));
    this.told = new Told(this.flame);
    this.tooltip = new Tooltip(at('#tooltip'));
    this.details = new Details(this.told, at('#details'));
    this.crumbs = new Crumbs(at('#crumbs'));
    this.controls = new Controls(profile, at('#controls'));
    this.threads = new Threads(profile, at('#threads'));
    this.strip = profile.slots > 0 ? new Strip(profile, about.span, at('#strip')) : null;
    at('#time').hidden = !this.strip;
    this.#connect();
    this.#paint();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#paint());
  }

  #connect() {
    const {flame, controls} = this;
    flame.onHover = (box, event) => this.tooltip.show(box && this.told.lines(box), event);
    flame.onFocus = (node) => this.#focus(node);
    flame.onZoom = () => this.crumbs.show(flame);
    this.details.onCaller = (node) => flame.zoom(node);
    this.crumbs.onChoose = (node) => flame.zoom(node);
    this.threads.onChoose = (threads) => this.change({threads});
    controls.onView = (values) => this.change(values);
    controls.onTurn = (isIcicle) => this.turn(isIcicle);
    controls.onSearch = (text) => this.search(text);
    controls.onReset = () => this.reset();
    at('#ask').addEventListener('click', () => at('#help').showModal());
    at('#whole').addEventListener('click', () => this.change({from: 0, to: 0}));
    if (this.strip) {
      this.strip.onSelect = (from, to) => this.change({from, to});
      this.strip.onHover = (lines, event) => this.tooltip.show(lines, event);
    }
    document.addEventListener('keydown', (event) => this.#key(event));
  }

  #paint() {
    const palette = new Palette(getComputedStyle(document.documentElement));
    this.flame.paint(palette);
    this.strip?.paint(palette);
    this.#legend(palette);
  }

  #legend(palette) {
    const item = (fill, text) => {
      const swatch = document.createElement('i');
      swatch.style.background = fill;
      const entry = document.createElement('span');
      entry.append(swatch, text);
      return entry;
    };
    const user = (share) => palette.tones[share * 3 + 1].fill;
    at('#colours').replaceChildren(
      item(user(8), 'on CPU'), item(user(0), 'off CPU'), item(user(4), 'on and off'), item(user(17), 'on CPU, kernel'),
      item(user(9), 'off CPU, kernel'), item(palette.root.fill, 'process, thread or CPU'), item(palette.note.fill, '[no function]'),
      item(palette.small.fill, 'small frames'), item(palette.unknown.fill, 'not known'), item(palette.hit.fill, 'found'),
    );
    at('#bands').replaceChildren(...BANDS.map((text, i) => item(palette.times[i], text)));
  }

  // change shows another view; it is settled once the promise is.
  change(values) {
    const before = this.view;
    this.view = before.with(values);
    this.settled = this.#show(before);
    return this.settled;
  }

  start() {
    this.settled = this.#show(null);
    return this.settled;
  }

  async #show(before) {
    const {view} = this;
    const differs = (...names) => !before || names.some((name) => before[name] !== view[name]);
    const number = ++this.#merging;
    this.#caption();
    this.controls.show(view, this.isIcicle);
    if (differs('mode', 'idle', 'threads')) this.strip?.show(view);
    else this.strip?.select(view);
    if (differs('from', 'to')) this.threads.show(view);
    else this.threads.choose(view);
    at('#graph').ariaBusy = 'true';
    const graph = await inSlices(merge(this.profile, view), () => number !== this.#merging);
    if (!graph) return this.settled;
    at('#graph').ariaBusy = 'false';
    at('#nothing').hidden = graph.total[0] > 0;
    this.flame.show(graph);
    this.#look();
    this.crumbs.show(this.flame);
    this.details.show(this.flame.focused);
    return undefined;
  }

  #caption() {
    const {title, subtitle} = this.about.captions[this.view.mode];
    at('h1').textContent = document.title = title;
    at('#subtitle').textContent = subtitle;
    if (!this.strip) return;
    const range = this.view.isRange;
    at('#whole').hidden = !range;
    queueMicrotask(() => {
      at('#range').textContent = this.strip.text();
      at('#scale').textContent = this.strip.scaleText();
    });
  }

  turn(isIcicle) {
    this.isIcicle = isIcicle;
    this.flame.turn(isIcicle);
    this.controls.show(this.view, isIcicle);
  }

  search(text) {
    this.#searched = text;
    this.finder = text ? new Search(this.profile, text) : null;
    this.#look();
  }

  // look searches the graph that is shown.
  #look() {
    this.finder?.look(this.flame.graph);
    this.flame.mark(this.finder);
    const found = at('#found');
    found.value = this.finder ? shareText(this.finder.ns, this.flame.graph.total[0]) : '';
    found.title = this.finder ? `${timeText(this.finder.ns)} in ${countText(this.finder.frames, 'frame')}` : '';
  }

  reset() {
    this.controls.search.value = '';
    this.search('');
    this.flame.zoom(0);
    return this.change({from: 0, to: 0, threads: null});
  }

  // back undoes the newest of what a look at a part is made of.
  back() {
    if (this.#searched) {
      this.controls.search.value = '';
      this.search('');
    } else if (!this.flame.isWhole) this.flame.zoom(0);
    else if (this.view.isRange) this.change({from: 0, to: 0});
    else if (this.view.threads) this.change({threads: null});
  }

  #focus(node) {
    this.details.show(node);
    at('#status').textContent = this.told.sentence(node);
  }

  #key(event) {
    if (at('#help').open) return;
    if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
      this.#seek(event);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isField = event.target.matches('input[type=search], select');
    if (event.key === 'Escape') this.back();
    else if (event.key === 'Enter' && event.target.id === 'search') at('#flame').focus();
    else if (!isField && !this.#move(event) && !this.#command(event)) return;
    else if (isField) return;
    event.preventDefault();
  }

  #seek(event) {
    event.preventDefault();
    this.controls.search.focus();
    this.controls.search.select();
  }

  // Arrows and Enter belong to what has the keyboard's focus if that takes them.
  #move(event) {
    if (event.target !== document.body && event.target.id !== 'flame') return false;
    if (event.key.startsWith('Arrow')) this.flame.step(event.key);
    else if (event.key === 'Enter') this.flame.enter();
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
      'i': () => this.turn(!this.isIcicle),
      's': () => this.change({states: !view.states}),
      'w': () => this.change({idle: !view.idle}),
      'b': () => this.change({by: this.#nextRoot()}),
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
    const next = (this.view.by + 1) % (BY.none + 1);
    return next === BY.cpu && !this.profile.hasCPUs ? BY.none : next;
  }
}

async function open() {
  const about = JSON.parse(at('#about').textContent);
  const t0 = performance.now();
  const packed = await Packed.open(document.querySelectorAll('script[type="application/octet-stream"]'), about.bytes);
  const t1 = performance.now();
  const profile = new Profile(about, packed);
  const t2 = performance.now();
  const page = new Page(about, profile);
  page.times = {parse: t0, unpack: t1-t0, decode: t2-t1};
  at('#wait').remove();
  globalThis.wprof = page; // for the browser's console
  await page.start();
  page.opened = performance.now();
  page.times.merge = performance.now() - t2;
}

open().catch((error) => {
  at('#trouble').textContent = `Cannot show this profile: ${error.message}`;
  console.error(error);
});
