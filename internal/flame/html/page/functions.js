// sumsByFunction adds up a graph by name: self is the time in a function itself, total also that in what it called; a function that
// calls itself counts once. The graph has no roots and its frames in the order of calls. It yields between its parts.
function* sumsByFunction(graph, names) {
  const self = new Float64Array(names);
  const total = new Float64Array(names);
  const before = new Float64Array(names); // total of the other profile, in a comparison
  const isOutermost = new Uint8Array(graph.length); // nodes without a caller of the same name
  for (let node = 1; node < graph.length; node++) {
    if (node % 65536 === 0) yield;
    if (graph.width[node] === 0) continue;
    const name = graph.name[node];
    self[name] += graph.self(node);
    let caller = graph.parent[node];
    while (caller > 0 && graph.name[caller] !== name) caller = graph.parent[caller];
    if (caller > 0) continue;
    isOutermost[node] = 1;
    total[name] += graph.total[node];
    if (graph.isCompared) before[name] += graph.before[node];
  }
  return {graph, self, total, before, isOutermost};
}

// neighboursOf lists the direct callers and callees of a function, those with most time first, as [name, ns]; name 0 is the root. The
// times of the callers add up to its total, and those of the callees to that without the time in itself.
function neighboursOf({graph, isOutermost}, name) {
  const callers = new Map();
  const callees = new Map();
  const add = (sums, key, ns) => sums.set(key, (sums.get(key) ?? 0) + ns);
  for (let node = 1; node < graph.length; node++) {
    if (!isOutermost[node] || graph.name[node] !== name) continue;
    add(callers, graph.name[graph.parent[node]], graph.total[node]);
    for (let i = graph.childFrom[node]; i < graph.childFrom[node + 1]; i++) {
      const child = graph.child[i];
      if (graph.total[child] > 0) add(callees, graph.name[child], graph.total[child]);
    }
  }
  const sorted = (sums) => [...sums].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  return {callers: sorted(callers), callees: sorted(callees)};
}

const FUNCTION = 24; // height of a row, px

// FunctionTable lists functions with their times, and of the chosen one its callers and callees. It reports a choice by
// onChoose(name), and a function that is to be found in the graph by onFind(name).
class FunctionTable {
  order = FunctionTable.usualOrder;
  chosen = 0; // number of a name; 0: none
  #listed = []; // numbers of names

  static usualOrder = 'self';

  constructor(profile, element) {
    this.profile = profile;
    this.element = element;
    this.list = element.querySelector('[role=listbox]');
    this.space = this.list.querySelector('.space');
    this.around = element.querySelector('.around');
    this.onChoose = () => {};
    this.onFind = () => {};
    this.list.addEventListener('scroll', () => this.#draw());
    this.list.addEventListener('click', (event) => {
      const name = event.target.closest('.function')?.dataset.name;
      if (name !== undefined) this.choose(Number(name));
    });
    this.list.addEventListener('keydown', (event) => this.#key(event));
    for (const button of element.querySelectorAll('.columns button')) {
      button.addEventListener('click', () => this.arrangeBy(button.dataset.order));
    }
    element.querySelector('.find').addEventListener('click', () => this.onFind(this.#name(this.chosen)));
    new ResizeObserver(() => this.#draw()).observe(this.list);
  }

  // show shows the sums of a graph; of a search only what it has found.
  show(sums, finder) {
    this.sums = sums;
    this.finder = finder;
    this.#arrange();
    this.#showAround();
  }

  arrangeBy(order) {
    this.order = ['self', 'total', 'change', 'name'].includes(order) ? order : FunctionTable.usualOrder;
    this.list.scrollTop = 0;
    if (this.sums) this.#arrange();
    this.onChoose(this.chosen);
  }

  choose(name) {
    this.chosen = name;
    this.#reveal();
    this.#draw();
    this.#showAround();
    this.onChoose(name);
  }

  #arrange() {
    const {self, total, before, graph} = this.sums;
    this.element.classList.toggle('compared', graph.isCompared);
    const change = (name) => Math.abs(total[name] - before[name]);
    const names = Array.from({length: total.length}, (_, name) => name);
    this.#listed = names.filter((name) => total[name] + before[name] > 0 && (!this.finder || this.finder.hasName(name)));
    const by = {self: (a, b) => self[b] - self[a] || total[b] - total[a], total: (a, b) => total[b] - total[a] || self[b] - self[a], change: (a, b) => change(b) - change(a), name: () => 0}[this.order];
    this.#listed.sort((a, b) => by(a, b) || a - b);
    for (const button of this.element.querySelectorAll('.columns button')) button.setAttribute('aria-pressed', button.dataset.order === this.order);
    this.space.style.height = `${this.#listed.length * FUNCTION}px`;
    this.#draw();
  }

  #draw() {
    if (!this.sums || this.element.hidden) return;
    const first = Math.max(0, Math.floor(this.list.scrollTop / FUNCTION) - 4);
    const last = Math.min(this.#listed.length, Math.ceil((this.list.scrollTop + this.list.clientHeight) / FUNCTION) + 4);
    const rows = [];
    for (let row = first; row < last; row++) rows.push(this.#row(row));
    this.space.replaceChildren(...rows);
    this.list.setAttribute('aria-activedescendant', this.chosen > 0 ? `function-${this.chosen}` : '');
  }

  #row(row) {
    const name = this.#listed[row];
    const {self, total, before, graph} = this.sums;
    const element = cells('function', [
      ['number', spell(self[name])], ['share', percent(self[name], graph.total[0])],
      ['number', spell(total[name])], ['share', percent(total[name], graph.total[0])],
      ...(graph.isCompared ? [['number', signed(total[name] - before[name])]] : []), ['name', this.#name(name)],
    ]);
    element.id = `function-${name}`;
    element.dataset.name = name;
    element.title = this.#name(name);
    element.style.top = `${row * FUNCTION}px`;
    const aria = {role: 'option', 'aria-selected': name === this.chosen, 'aria-posinset': row + 1, 'aria-setsize': this.#listed.length};
    for (const [key, value] of Object.entries(aria)) element.setAttribute(key, value);
    return element;
  }

  #name(name) {
    return name === 0 ? 'all' : this.profile.name[name];
  }

  #showAround() {
    const isShown = this.sums && this.chosen > 0 && this.sums.total[this.chosen] + this.sums.before[this.chosen] > 0;
    this.around.hidden = !isShown;
    if (!isShown) return;
    this.neighbours = neighboursOf(this.sums, this.chosen);
    const {callers, callees} = this.neighbours;
    const {self, total, before, graph} = this.sums;
    this.around.querySelector('.name').textContent = this.#name(this.chosen);
    this.around.querySelector('.times').textContent = `${spell(total[this.chosen])}, ${spell(self[this.chosen])} of it itself`
      + (graph.isCompared ? `, before ${spell(before[this.chosen])}` : '');
    for (const [list, all] of [['.callers', callers], ['.callees', callees]]) {
      this.around.querySelector(list).replaceChildren(...all.slice(0, MOST_NEIGHBOURS).map(([name, ns]) => this.#neighbour(name, ns)));
      this.around.querySelector(`${list}-more`).textContent = all.length > MOST_NEIGHBOURS ? `and ${grouped(all.length - MOST_NEIGHBOURS)} more` : '';
    }
  }

  #neighbour(name, ns) {
    const item = document.createElement('li');
    const button = cells('', [['number', spell(ns)], ['share', percent(ns, this.sums.total[this.chosen])], ['name', this.#name(name)]], 'button');
    button.type = 'button';
    button.title = this.#name(name);
    button.disabled = name === 0;
    button.addEventListener('click', () => this.choose(name));
    item.append(button);
    return item;
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.list.clientHeight / FUNCTION) - 1);
    const last = this.#listed.length - 1;
    const by = {ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -last, End: last}[event.key];
    if (by === undefined || last < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const at = this.#listed.indexOf(this.chosen);
    this.choose(this.#listed[at < 0 ? 0 : Math.max(0, Math.min(last, at + by))]);
    event.preventDefault();
    event.stopPropagation();
  }

  #reveal() {
    const at = this.#listed.indexOf(this.chosen);
    if (at < 0) return;
    const top = at * FUNCTION;
    this.list.scrollTop = Math.max(top + FUNCTION - this.list.clientHeight, Math.min(top, this.list.scrollTop));
  }
}

// signed formats a change of time.
const signed = (ns) => (ns > 0 ? '+' : ns < 0 ? '−' : '') + spell(Math.abs(ns));

const MOST_NEIGHBOURS = 200;

// cells is an element of a kind with a span for each class and text.
function cells(kind, texts, tag = 'div') {
  const element = document.createElement(tag);
  element.className = kind;
  element.append(...texts.map(([name, text]) => {
    const part = document.createElement('span');
    part.className = name;
    part.textContent = text;
    return part;
  }));
  return element;
}
