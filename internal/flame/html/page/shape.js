// What the thread did at the last frame of a stack, and at the note above it; internal/flame/graph's Mark.
const MARK = {none: 0, on: 1, off: 2};

// Shape is the part of a flame graph that does not depend on the time range: its frames and their callers, in columns with
// a row for each node. Node 0 is the root of the graph; a child comes after its parent.
class Shape {
  #pairs = new Pairs(); // of parent, and name with mark
  #room = 1 << 10;
  length = 1;

  constructor() {
    this.parent = new Int32Array(this.#room).fill(-1, 0, 1);
    this.name = new Uint32Array(this.#room);
    this.mark = new Uint8Array(this.#room);
    this.module = new Uint32Array(this.#room);
    this.depth = new Uint16Array(this.#room);
    this.#pairs.add(0xffffffff, 0);
  }

  // step is the child of a node with this name and mark. It keeps the module that it was made with.
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
    return node;
  }

  #grow() {
    this.#room *= 2;
    for (const column of ['parent', 'name', 'mark', 'module', 'depth']) this[column] = grown(this[column], this.#room);
  }

  // complete sorts children by name and mark: those of node i are child[childFrom[i]] to child[childFrom[i + 1]],
  // excluded. No node can be added after it. It yields between its parts.
  *complete() {
    this.#pairs = null;
    const all = Uint32Array.from({length: this.length - 1}, (_, i) => i + 1);
    yield;
    const {sorted: byName} = sortedBy(all, (node) => this.name[node] * 4 + this.mark[node]);
    yield;
    ({sorted: this.child, from: this.childFrom} = sortedBy(byName, (node) => this.parent[node], this.length));
    yield;
  }
}

// sortedBy is a stable sort of numbers by small keys: those of key i are sorted[from[i]] to sorted[from[i + 1]],
// excluded. It is a counting sort: one with comparisons takes ten times as long.
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
