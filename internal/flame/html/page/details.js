const MARKS = ['', ', on CPU', ', off CPU'];

// BoxText makes the texts about the boxes of a flame graph.
class BoxText {
  constructor(flame) {
    this.flame = flame;
  }

  get graph() {
    return this.flame.graph;
  }

  kind(node) {
    const {graph, flame: {profile}} = this;
    if (node === 0) return 'Everything shown';
    const module = profile.module[graph.module[node]];
    return KINDS[profile.nameKind[graph.name[node]]] + MARKS[graph.mark[node]] + (module ? ` in ${module}` : '');
  }

  // shares describes the time of a node, or of small ones beside it, as a share.
  shares(node, ns) {
    const {graph, flame: {zoomed}} = this;
    const [whole, name] = graph.whole(node);
    return sharesOf(ns, whole, zoomed && graph.total[zoomed], name);
  }

  // counts is the number of samples, off-CPU intervals, and waits for a CPU, each the last part of an interval.
  counts(node) {
    const {graph: {name, off, on, unknown, samples, intervals, waits, unknowns}, flame: {profile}} = this;
    const parts = [];
    if (on[node] > 0) parts.push(counted(samples[node], 'sample'));
    const isWait = profile.nameKind[name[node]] === KIND.delay;
    if (off[node] > 0 && !isWait) parts.push(counted(intervals[node], 'off-CPU interval'));
    if (waits[node] > 0) parts.push(`${counted(waits[node], 'wait')} for a CPU`);
    if (unknown[node] > 0) parts.push(counted(unknowns[node], 'unknown interval'));
    return parts.join(', ');
  }

  // split is a frame's time by what threads did in it; parts of 0 are left out.
  split(node) {
    const {on, off, unknown} = this.graph;
    return splitOf(on[node], off[node], unknown[node]);
  }

  // differences are the lines about a frame in a comparison.
  differences(node) {
    const {graph} = this;
    const side = (when, ns) => `${when} ${spell(ns[node])}, ${percent(ns[node], ns[0])} of all`;
    return [side('Now', graph.total), side('Before', graph.before),
      describeChange(graph.total[node], graph.before[node], graph.total[0], graph.before[0], spell)];
  }

  // lines are for the tooltip and for screen readers.
  lines(box) {
    const {graph, flame} = this;
    if (box.count > 1) return [flame.text(box), 'With all above them', `${spell(box.ns)}, ${this.shares(box.node, box.ns)}`];
    const {node} = box;
    const time = graph.total[node];
    if (graph.isCompared) return [flame.name(node), this.kind(node), ...this.differences(node)];
    const split = this.split(node);
    const lines = [flame.name(node), this.kind(node), ...describeTime(time, graph.self(node), this.shares(node, time), spell)];
    if (split.length > 0) lines.push(describeSplit(split));
    return [...lines, this.counts(node)];
  }
}

// Details shows the focused frame with its callers.
class Details {
  constructor(boxText, element) {
    this.boxText = boxText;
    this.facts = element.querySelector('dl');
    this.name = element.querySelector('.name');
    this.callers = element.querySelector('ol');
    this.heading = element.querySelector('h3');
    this.onCaller = () => {};
    element.querySelector('.copy-name').addEventListener('click', (event) => copy(this.#nameOf(), event.target));
    element.querySelector('.copy-stack').addEventListener('click', (event) => copy(this.#stackOf(), event.target));
  }

  // show shows a node. isReverse is whether frames nearer to the root are callees.
  show(node, isReverse) {
    this.heading.textContent = isReverse ? 'Calls' : 'Called by';
    const {boxText, boxText: {graph, flame}} = this;
    this.node = node;
    this.name.textContent = flame.name(node);
    this.facts.replaceChildren();
    this.#fact('Kind', boxText.kind(node));
    if (graph.isCompared) {
      this.#time('Before', graph.before[node]);
      this.#fact('Change', describeChange(graph.total[node], graph.before[node], graph.total[0], graph.before[0], spell));
    }
    this.#time('Time', graph.total[node]);
    this.#fact('Share', boxText.shares(node, graph.total[node]));
    this.#time('Self', graph.self(node));
    for (const [what, ns] of boxText.split(node)) this.#time(what[0].toUpperCase() + what.slice(1), ns);
    this.#fact('Count', boxText.counts(node));
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

  // time shows a rounded time, with the exact number as tooltip.
  #time(what, ns) {
    const value = document.createElement('data');
    value.value = ns;
    value.title = `${grouped(ns)} ns`;
    value.textContent = spell(ns);
    this.#fact(what, '').append(value);
  }

  #caller(node) {
    const {graph, flame} = this.boxText;
    const button = document.createElement('button');
    button.type = 'button';
    const name = document.createElement('span');
    name.textContent = flame.name(node);
    const share = document.createElement('span');
    share.textContent = percent(graph.total[node], graph.whole(node)[0]);
    button.append(name, share);
    button.title = flame.name(node);
    button.addEventListener('click', () => this.onCaller(node));
    const item = document.createElement('li');
    item.append(button);
    return item;
  }

  #nameOf() {
    return this.boxText.flame.name(this.node);
  }

  // stackOf is the path to the frame in the form of folded stacks.
  #stackOf() {
    const {graph, flame} = this.boxText;
    return graph.path(this.node).map((node) => flame.name(node).replaceAll(';', ':')).join(';');
  }
}

async function copy(text, button) {
  const before = button.dataset.text ??= button.textContent;
  const isCopied = await navigator.clipboard?.writeText(text).then(() => true, () => false) || copyByHand(text);
  button.textContent = isCopied ? 'Copied' : 'The browser refused';
  setTimeout(() => { button.textContent = before; }, 1500);
}

// copyByHand selects and copies as a user would: browsers have no clipboard API on a page from a server without TLS.
function copyByHand(text) {
  const focused = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  focused?.focus();
  return isCopied;
}

// Crumbs shows the frames from the root to the zoomed one.
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
