// Search finds frames by name, and their share of a graph.
class Search {
  #found; // of each name
  #outermost; // found nodes without a found caller
  #within; // of each node: it, or one above it, is found

  constructor(profile, text) {
    this.matches = matchNames(profile.name, text);
    this.#found = this.matches.isSlow ? new Uint8Array(profile.name.length) : this.matches.has;
  }

  // searchGraph finds nodes of a graph. Time in nested found frames counts once.
  searchGraph(graph) {
    this.graph = graph;
    this.frames = 0;
    this.#outermost = [];
    const under = new Uint8Array(graph.length); // it, or one of its callers, is found
    this.#within = new Uint8Array(graph.length);
    for (let node = 1; node < graph.length; node++) {
      const isFound = graph.width[node] > 0 ? this.#found[graph.name[node]] : 0;
      const isUnder = under[graph.parent[node]];
      if (isFound) this.frames++;
      if (isFound && !isUnder) this.#outermost.push(node);
      under[node] = isFound | isUnder;
      this.#within[node] = isFound;
    }
    for (let node = graph.length - 1; node > 0; node--) this.#within[graph.parent[node]] |= this.#within[node];
  }

  // ns is the part of a node's time that is in found frames.
  ns(node) {
    const {graph} = this;
    for (let at = node; at > 0; at = graph.parent[at]) if (this.#found[graph.name[at]]) return graph.total[node];
    const [from, to] = [graph.start[node], graph.start[node] + graph.width[node]];
    const isAbove = (at) => graph.depth[at] > graph.depth[node] && graph.start[at] >= from && graph.start[at] < to;
    return this.#outermost.reduce((ns, at) => (isAbove(at) ? ns + graph.total[at] : ns), 0);
  }

  // hasName is whether frames of a name are found.
  hasName(name) {
    return this.#found[name] === 1;
  }

  // text is the result as text.
  text(zoomed) {
    return resultOf(this.matches, this.frames, zoomed, (node) => percent(this.ns(node), this.graph.total[node]));
  }

  // has is whether a box is found; for a box of small frames, whether one of them or above them is.
  has(box) {
    const {graph} = this;
    if (box.count === 1) return box.node > 0 && this.#found[graph.name[box.node]] === 1;
    const parent = graph.parent[box.node];
    for (let i = firstAfter(graph, parent, box.start); i < graph.childFrom[parent + 1]; i++) {
      const child = graph.child[i];
      if (graph.start[child] >= box.start + box.span) break;
      if (this.#within[child] && graph.width[child] > 0) return true;
    }
    return false;
  }
}
