const KIND_TEXT = ['function', 'kernel function', 'root', 'note'];
const MARK_TEXT = ['', ', on CPU', ', off CPU'];

// Told says in words what a frame is; its graph is that of the flame it is shown by.
class Told {
  constructor(flame) {
    this.flame = flame;
  }

  get graph() {
    return this.flame.graph;
  }

  kind(node) {
    const {graph, flame} = this;
    if (node === 0) return 'all that is shown';
    const module = flame.profile.module[graph.module[node]];
    return KIND_TEXT[flame.profile.nameKind[graph.name[node]]] + MARK_TEXT[graph.mark[node]] + (module ? ` in ${module}` : '');
  }

  shares(ns) {
    const {graph, flame} = this;
    const shares = [`${shareText(ns, graph.total[0])} of all`];
    if (flame.zoomed > 0) shares.push(`${shareText(ns, graph.total[flame.zoomed])} of ${flame.name(flame.zoomed)}`);
    return shares.join(', ');
  }

  // count is of samples on the CPU and times off it.
  count(node) {
    const {graph} = this;
    if (graph.off[node] === 0) return countText(graph.count[node], 'sample');
    if (graph.on[node] === 0) return countText(graph.count[node], 'time');
    return `${countText(graph.count[node], 'sample')} and times off`;
  }

  // times are those that a frame has several of.
  times(node) {
    const {graph} = this;
    const all = [['on CPU', graph.on[node]], ['off CPU', graph.off[node]], ['unknown', graph.unknown[node]]];
    return all.filter(([, ns]) => ns > 0);
  }

  // lines are for the tooltip.
  lines(box) {
    const {graph, flame} = this;
    if (box.count > 1) return [flame.text(box), timeText(box.ns), this.shares(box.ns), 'click to see them'];
    const {node} = box;
    const lines = [flame.name(node), this.kind(node), `${timeText(graph.total[node])}, ${this.count(node)}`, this.shares(graph.total[node])];
    const times = this.times(node);
    if (times.length > 1) lines.push(times.map(([what, ns]) => `${what} ${timeText(ns)}`).join(', '));
    return lines;
  }

  // sentence is for those who hear the page.
  sentence(node) {
    const {graph, flame} = this;
    const ns = graph.total[node];
    return `${flame.name(node)}, ${this.kind(node)}, ${timeText(ns)}, ${this.shares(ns)}, ${this.count(node)}`;
  }
}

// Details tells all about the frame that has the focus, with the way to it.
class Details {
  constructor(told, element) {
    this.told = told;
    this.facts = element.querySelector('dl');
    this.name = element.querySelector('.name');
    this.callers = element.querySelector('ol');
    this.onCaller = () => {};
    element.querySelector('.copy-name').addEventListener('click', (event) => copy(this.#nameOf(), event.target));
    element.querySelector('.copy-stack').addEventListener('click', (event) => copy(this.#stackOf(), event.target));
  }

  show(node) {
    const {told, told: {graph, flame}} = this;
    this.node = node;
    this.name.textContent = flame.name(node);
    this.facts.replaceChildren();
    this.#fact('Kind', told.kind(node));
    this.#time('Time', graph.total[node]);
    this.#fact('Share', told.shares(graph.total[node]));
    this.#time('Self', graph.self(node));
    for (const [what, ns] of told.times(node)) this.#time(what[0].toUpperCase() + what.slice(1), ns);
    this.#fact('Count', told.count(node));
    this.callers.replaceChildren(...graph.path(node).slice(0, -1).reverse().map((caller) => this.#caller(caller)));
  }

  #fact(what, text) {
    const term = document.createElement('dt');
    term.textContent = what;
    const value = document.createElement('dd');
    value.textContent = text;
    this.facts.append(term, value);
    return value;
  }

  // time has the exact number behind the one that is read at a glance.
  #time(what, ns) {
    const value = document.createElement('data');
    value.value = ns;
    value.title = exactText(ns);
    value.textContent = timeText(ns);
    this.#fact(what, '').append(value);
  }

  #caller(node) {
    const {graph, flame} = this.told;
    const button = document.createElement('button');
    button.type = 'button';
    const name = document.createElement('span');
    name.textContent = flame.name(node);
    const share = document.createElement('span');
    share.textContent = shareText(graph.total[node], graph.total[0]);
    button.append(name, share);
    button.title = flame.name(node);
    button.addEventListener('click', () => this.onCaller(node));
    const item = document.createElement('li');
    item.append(button);
    return item;
  }

  #nameOf() {
    return this.told.flame.name(this.node);
  }

  // stackOf is the way to the frame as folded text has it.
  #stackOf() {
    const {graph, flame} = this.told;
    return graph.path(this.node).map((node) => flame.name(node).replaceAll(';', ':')).join(';');
  }
}

async function copy(text, button) {
  const before = button.dataset.text ??= button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'The browser refused';
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}

// Crumbs are the frames from the root to the one that is zoomed into.
class Crumbs {
  constructor(element) {
    this.element = element;
    this.onChoose = () => {};
  }

  show(flame) {
    const nodes = [0, ...flame.graph.path(flame.zoomed)];
    this.element.replaceChildren(...nodes.map((node, i) => {
      const item = document.createElement('li');
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = flame.name(node);
      button.title = flame.name(node);
      if (i === nodes.length - 1) button.setAttribute('aria-current', 'true');
      button.addEventListener('click', () => this.onChoose(node));
      item.append(button);
      return item;
    }));
    this.element.scrollLeft = this.element.scrollWidth;
  }
}
