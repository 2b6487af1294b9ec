// Search finds the frames whose names a text is in, or that match it as a regular expression, and how much of a graph they
// are.
class Search {
  isPattern = true;
  #found; // of each name
  #within; // of each node: it, or one above it, is found

  constructor(profile, text) {
    let matches;
    try {
      const pattern = new RegExp(text, 'i');
      matches = (name) => pattern.test(name);
    } catch {
      this.isPattern = false; // f(int is no expression, but a name
      const lower = text.toLowerCase();
      matches = (name) => name.toLowerCase().includes(lower);
    }
    this.#found = Uint8Array.from(profile.name, (name, i) => (i > 0 && matches(name) ? 1 : 0));
  }

  // look counts time once where one found frame calls another.
  look(graph) {
    this.graph = graph;
    this.ns = 0;
    this.frames = 0;
    const under = new Uint8Array(graph.length); // a frame that is found, or called by one
    this.#within = new Uint8Array(graph.length);
    for (let node = 1; node < graph.length; node++) {
      const isFound = this.#found[graph.name[node]];
      const isUnder = under[graph.parent[node]];
      if (isFound) this.frames++;
      if (isFound && !isUnder) this.ns += graph.total[node];
      under[node] = isFound | isUnder;
      this.#within[node] = isFound;
    }
    for (let node = graph.length - 1; node > 0; node--) this.#within[graph.parent[node]] |= this.#within[node];
  }

  // has tells whether a box is found; one of small frames, whether any of them or above them is.
  has(box) {
    const {graph} = this;
    if (box.count === 1) return box.node > 0 && this.#found[graph.name[box.node]] === 1;
    const from = firstBehind(graph, graph.parent[box.node], box.start);
    for (let i = from; i < from + box.count; i++) if (this.#within[graph.child[i]]) return true;
    return false;
  }
}
