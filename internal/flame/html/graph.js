// What a last frame says about the thread; internal/flame's Mark.
const MARK = {none: 0, on: 1, off: 2};

// Graph is a flame graph: stacks merged from their roots on, in columns with a row for each node. Node 0 is the root of
// all; a child stands behind its parent.
class Graph {
  #pairs = new Pairs(); // of parent, and name with mark
  #room = 1 << 10;
  length = 1;
  levels = 0; // of nodes above the root

  constructor() {
    this.parent = new Int32Array(this.#room).fill(-1, 0, 1);
    this.name = new Uint32Array(this.#room);
    this.mark = new Uint8Array(this.#room);
    this.module = new Uint32Array(this.#room);
    this.depth = new Uint16Array(this.#room);
    this.on = new Float64Array(this.#room); // ns, of a node and all above
    this.off = new Float64Array(this.#room);
    this.unknown = new Float64Array(this.#room);
    this.count = new Float64Array(this.#room);
    this.#pairs.add(0xffffffff, 0);
  }

  // step is the child of a node with this name and mark. The module is that of who comes first.
  step(parent, name, mark, module) {
    const node = this.#pairs.add(parent, name * 4 + mark);
    if (node < this.length) return node;
    if (node === this.#room) this.#grow();
    this.length++;
    this.parent[node] = parent;
    this.name[node] = name;
    this.mark[node] = mark;
    this.module[node] = module;
    this.depth[node] = this.depth[parent] + 1;
    this.levels = Math.max(this.levels, this.depth[node]);
    return node;
  }

  #grow() {
    this.#room *= 2;
    for (const column of ['parent', 'name', 'mark', 'module', 'depth', 'on', 'off', 'unknown', 'count']) {
      this[column] = grown(this[column], this.#room);
    }
  }

  add(node, kind, ns, count) {
    if (kind === CLASS.onCPU) this.on[node] += ns;
    else if (kind === CLASS.unknown) this.unknown[node] += ns;
    else this.off[node] += ns;
    this.count[node] += count;
  }

  // settle adds up what is above each node, and puts children in order. No node can be added after it. It gives way
  // between its parts, as merge does.
  *settle() {
    this.#pairs = null;
    for (let node = this.length - 1; node > 0; node--) {
      const parent = this.parent[node];
      this.on[parent] += this.on[node];
      this.off[parent] += this.off[node];
      this.unknown[parent] += this.unknown[node];
      this.count[parent] += this.count[node];
    }
    yield;
    this.total = new Float64Array(this.length);
    for (let node = 0; node < this.length; node++) this.total[node] = this.on[node] + this.off[node] + this.unknown[node];
    yield;
    const all = Uint32Array.from({length: this.length - 1}, (_, i) => i + 1);
    const {sorted: byName} = sortedBy(all, (node) => this.name[node] * 4 + this.mark[node]);
    yield;
    // Children of node i are child[childFrom[i]] to child[childFrom[i + 1]], excluded.
    ({sorted: this.child, from: this.childFrom} = sortedBy(byName, (node) => this.parent[node], this.length));
    yield;
    this.#place();
  }

  // place puts children side by side: start is where a node begins, in ns from the left.
  #place() {
    this.start = new Float64Array(this.length);
    for (let node = 0; node < this.length; node++) {
      let at = this.start[node];
      for (let i = this.childFrom[node]; i < this.childFrom[node + 1]; i++) {
        this.start[this.child[i]] = at;
        at += this.total[this.child[i]];
      }
    }
  }

  // self is the time of a node that is of none above it.
  self(node) {
    let ns = this.total[node];
    for (let i = this.childFrom[node]; i < this.childFrom[node + 1]; i++) ns -= this.total[this.child[i]];
    return ns;
  }

  // path are the nodes from the root's child to a node.
  path(node) {
    const path = [];
    for (; node > 0; node = this.parent[node]) path.push(node);
    return path.reverse();
  }

  // find is the node at the end of a path of names, or as near to it as this graph has one.
  find(names) {
    let at = 0;
    for (const name of names) {
      let next = 0;
      for (let i = this.childFrom[at]; i < this.childFrom[at + 1]; i++) {
        const child = this.child[i];
        if (this.name[child] === name && this.total[child] > this.total[next] * (next > 0)) next = child;
      }
      if (next === 0) break;
      at = next;
    }
    return at;
  }
}

// sortedBy sorts numbers by small keys, and leaves those of one key in their order: those of key i are sorted[from[i]] to
// sorted[from[i + 1]], excluded. It counts: comparing takes ten times as long.
function sortedBy(items, keyOf, keys = 0) {
  for (const item of items) keys = Math.max(keys, keyOf(item) + 1);
  const from = new Uint32Array(keys + 1);
  for (const item of items) from[keyOf(item) + 1]++;
  for (let key = 0; key < keys; key++) from[key + 1] += from[key];
  const next = from.slice();
  const sorted = new Uint32Array(items.length);
  for (const item of items) sorted[next[keyOf(item)]++] = item;
  return {sorted, from};
}
