// The most that waits for work get of the width, if they are folded.
const IDLE_SHARE = 0.06;

// foldsIdle is whether waits for work are drawn narrower: not where all else is less than 1% of the time.
const foldsIdle = (whole, idle) => idle > 0 && (whole - idle) * 100 >= whole;

// Graph is a flame graph: a shape, and the time of each of its nodes. Nodes without time are not shown.
class Graph {
  levels = 0; // of nodes above the root

  // baseScale is by what the times of another profile are multiplied to compare with it; undefined: there is none.
  constructor(shape, baseScale) {
    const {length, parent, name, mark, module, depth, child, childFrom, idle} = shape;
    Object.assign(this, {length, parent, name, mark, module, depth, child, childFrom, idle});
    this.isCompared = baseScale !== undefined;
    this.baseScale = baseScale;
    this.before = new Float64Array(this.isCompared ? length : 0); // ns of the other profile, scaled once the graph is complete
    this.on = new Float64Array(length); // ns, of a node and all above
    this.off = new Float64Array(length);
    this.unknown = new Float64Array(length);
    this.samples = new Float64Array(length); // on the CPU
    this.intervals = new Float64Array(length); // off-CPU
    this.waits = new Float64Array(length); // for a CPU, each part of an off-CPU interval
    this.unknowns = new Float64Array(length); // unknown intervals
  }

  add(node, kind, ns, count, waits) {
    let [time, times] = [this.off, this.intervals];
    if (isOnCPU(kind)) [time, times] = [this.on, this.samples];
    else if (kind === CLASS.unknown) [time, times] = [this.unknown, this.unknowns];
    time[node] += ns;
    times[node] += count;
    this.waits[node] += waits;
  }

  // complete computes the totals, and places children side by side: start is where a node begins, and width how wide it is drawn, in ns
  // from the left. Nothing can be added after it. It yields between its parts.
  *complete() {
    // As in Go, times are scaled before they are added up, so that sums stay exact.
    for (let node = 0; node < this.before.length; node++) this.before[node] = Math.floor(this.before[node] * this.baseScale + 0.5);
    for (let node = this.length - 1; node > 0; node--) {
      const parent = this.parent[node];
      this.on[parent] += this.on[node];
      this.off[parent] += this.off[node];
      this.unknown[parent] += this.unknown[node];
      this.samples[parent] += this.samples[node];
      this.intervals[parent] += this.intervals[node];
      this.waits[parent] += this.waits[node];
      this.unknowns[parent] += this.unknowns[node];
      if (this.isCompared) this.before[parent] += this.before[node];
    }
    yield;
    this.total = new Float64Array(this.length);
    for (let node = 0; node < this.length; node++) {
      this.total[node] = this.on[node] + this.off[node] + this.unknown[node];
      if (this.total[node] + (this.before[node] ?? 0) > 0 && this.depth[node] > this.levels) this.levels = this.depth[node];
    }
    yield;
    this.#setWidths();
    yield;
    this.start = new Float64Array(this.length);
    for (let node = 0; node < this.length; node++) {
      let at = this.start[node];
      for (let i = this.childFrom[node]; i < this.childFrom[node + 1]; i++) {
        this.start[this.child[i]] = at;
        at += this.width[this.child[i]];
      }
    }
  }

  // setWidths makes nodes as wide as their time; those of folded waits for work are narrower.
  #setWidths() {
    this.width = this.isCompared ? this.#largerWidths() : this.total.slice();
    this.isIdle = new Uint8Array(this.length);
    if (this.idle === 0) return;
    const idle = this.width[this.idle];
    const busy = this.width[0] - idle;
    const part = foldsIdle(this.width[0], idle) ? Math.min(1, IDLE_SHARE / (1 - IDLE_SHARE) * busy / idle) : 1;
    for (let node = this.idle; node < this.length; node++) {
      if (node !== this.idle && !this.isIdle[this.parent[node]]) continue;
      this.isIdle[node] = 1;
      this.width[node] *= part;
    }
    this.width[0] = busy + this.width[this.idle];
  }

  // largerWidths are the widths of a comparison: of each node the larger of both own times, and the widths above it.
  #largerWidths() {
    const widths = new Float64Array(this.length);
    for (let node = this.length - 1; node >= 0; node--) {
      let [now, before] = [this.total[node], this.before[node]];
      for (let i = this.childFrom[node]; i < this.childFrom[node + 1]; i++) {
        now -= this.total[this.child[i]];
        before -= this.before[this.child[i]];
        widths[node] += widths[this.child[i]];
      }
      widths[node] += Math.max(now, before);
    }
    return widths;
  }

  // whole is the time that a node's share is of, and what to call it.
  whole(node) {
    if (this.idle === 0 || node === 0 || this.isIdle[node] || !foldsIdle(this.total[0], this.total[this.idle])) return [this.total[0], 'all'];
    return [this.total[0] - this.total[this.idle], 'all but [idle]'];
  }

  // self is the time of a node without the nodes above it.
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

  // find is the node at the end of a path of names, or the last one on the path that this graph has. Names are numbers, unless isNamed
  // compares something else with those of nodes.
  find(names, isNamed = (node, name) => this.name[node] === name) {
    let at = 0;
    for (const name of names) {
      let next = 0;
      for (let i = this.childFrom[at]; i < this.childFrom[at + 1]; i++) {
        const child = this.child[i];
        if (isNamed(child, name) && this.width[child] > this.width[next] * (next > 0)) next = child;
      }
      if (next === 0) break;
      at = next;
    }
    return at;
  }
}
