// shapeOf makes the shape of a view's graph, which does not depend on the time range, as internal/flame/graph's Of does. end has
// for each cell the node at which its path ends, -1 if the view does not have the cell. It yields from time to time, so that
// the page stays responsive: run it with inSlices.
function* shapeOf(profile, view) {
  const shaper = new Shaper(profile, view);
  const end = new Int32Array(profile.cellNs.length).fill(-1);
  for (const side of sidesOf(profile, view)) {
    for (const cell of cellsOf(profile, side)) {
      const kind = profile.kindClass[profile.cellKind[cell]];
      const isSample = profile.isSpread && kind === CLASS.onCPU && profile.cellCount[cell] > 0;
      if (view.has(kind) && (profile.cellNs[cell] > 0 || isSample)) end[cell] = shaper.end(cell, kind);
      if (cell % 4096 === 0) yield;
    }
  }
  const {shape} = shaper;
  yield* shape.complete();
  shape.idle = shaper.idle;
  return {shape, end};
}

// graphOf makes the graph of a view's time range.
function* graphOf(profile, view, {shape, end}) {
  const graph = new Graph(shape, profile.base && profile.scaleOfBase(view));
  const [side, base] = sidesOf(profile, view);
  graph.quality = yield* addCells(profile, side, (cell, kind, ns, count, waits) => graph.add(end[cell], kind, ns, count, waits), end);
  if (base) yield* addCells(profile, base, (cell, kind, ns) => { graph.before[end[cell]] += ns; }, end);
  yield* graph.complete();
  return graph;
}

// addCells reports the times of a view's cells that have an end by add(cell, kind, ns, count, waits), and returns how well its time
// on the CPU is sampled.
function* addCells(profile, view, add, end) {
  const attribution = new Attribution(profile, view, (cell, ns, count) => add(cell, CLASS.onCPU, ns, count, 0));
  for (const cell of cellsOf(profile, view)) {
    const kind = profile.kindClass[profile.cellKind[cell]];
    if (end[cell] >= 0 && !(profile.isSpread && kind === CLASS.onCPU)) {
      const ns = profile.nsWithin(cell, view.from, view.to);
      if (ns > 0) {
        const [count, waits] = profile.countsWithin(cell, ns);
        add(cell, kind, ns, count, waits);
        if (kind === CLASS.onCPU) attribution.keep(cell, ns, count);
      }
    }
    if (cell % 4096 === 0) yield;
  }
  if (profile.isSpread && view.has(CLASS.onCPU)) yield* attribution.run();
  return attribution.quality;
}

// sidesOf is the view, and in a comparison the view of the other side: all of its time, and of its threads those of the same names.
function sidesOf(profile, view) {
  if (!profile.base) return [view];
  const nameOf = (thread) => profile.commRoot[profile.threadLabel[thread]];
  const all = Array.from(profile.tid, (_, thread) => thread);
  const names = view.threads && new Set(Array.from(view.threads, nameOf));
  return [
    view.threads ? view : view.with({threads: new Set(all.slice(0, profile.threads))}),
    view.with({from: 0, to: 0, threads: new Set(all.slice(profile.threads).filter((thread) => !names || names.has(nameOf(thread))))}),
  ];
}

function* cellsOf(profile, view) {
  for (let thread = 0; thread < profile.tid.length; thread++) {
    if (!view.hasThread(thread)) continue;
    for (let cell = profile.cellsFrom[thread]; cell < profile.cellsFrom[thread + 1]; cell++) yield cell;
  }
}

// inSlices runs a generator to its end, a few milliseconds at a time, and returns its result; undefined if it was
// stopped.
async function inSlices(work, isToStop) {
  for (;;) {
    for (const begin = performance.now(); performance.now() - begin < 12;) {
      const {done, value} = work.next();
      if (done) return value;
    }
    await yieldToPage();
    if (isToStop()) return undefined;
  }
}

// yieldToPage lets the page handle events. It does not use a timeout, because browsers delay repeated timeouts.
function yieldToPage() {
  return new Promise((resume) => {
    const {port1, port2} = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resume();
    };
    port2.postMessage(null);
  });
}

// Shaper finds the nodes of cells in a shape.
class Shaper {
  shape = new Shape();
  idle = 0; // the node with all waits for work, if the view folds them

  // The node of each stack above the root with which it was last seen: most cells share most of their stack with an
  // earlier one.
  #lastNode;
  #lastRoot;

  constructor(profile, view) {
    this.profile = profile;
    this.view = view;
    this.#lastNode = new Uint32Array(profile.stackParent.length);
    this.#lastRoot = new Int32Array(profile.stackParent.length).fill(-1);
  }

  // end is the node at the end of a cell's path: root, stack, note, wakers. Two nodes get the mark: that one, and the last one of the
  // stack, so that a thread's blocked time and its wait for a CPU afterwards are in the same frame.
  end(cell, kind) {
    const {profile, view} = this;
    const mark = this.#mark(kind);
    const stack = profile.stackOf(cell);
    const isFolded = view.fold && kind === CLASS.idle;
    const note = isFolded ? 0 : (view.states ? profile.kindReason : profile.kindNote)[profile.cellKind[cell]];
    let at = 0;
    if (isFolded) at = this.idle = this.shape.step(0, profile.notes.idle, MARK.none, 0);
    at = this.#root(at, cell, note === 0 && stack === 0 ? mark : MARK.none);
    if (stack > 0) at = this.#stack(at, stack, mark);
    if (note > 0) at = this.shape.step(at, note, mark, 0);
    return view.mode === MODE.waker ? this.#wakers(at, cell) : at;
  }

  #mark(kind) {
    if (this.view.mode !== MODE.wall || kind === CLASS.unknown) return MARK.none;
    return isOnCPU(kind) ? MARK.on : MARK.off;
  }

  #root(at, cell, mark) {
    const {profile, view} = this;
    const label = profile.cellLabel[cell];
    switch (view.by) {
      case BY.process: return this.shape.step(at, profile.processRoot[label], mark, 0);
      case BY.thread: return this.shape.step(at, profile.threadRoot[label], mark, 0);
      case BY.comm: return this.shape.step(at, profile.commRoot[label], mark, 0);
      case BY.cpu: return this.shape.step(at, profile.cpuRoot[profile.cellCPU[cell]], mark, 0);
      case BY.wait: return this.shape.step(this.#waitRoot(at, profile.cellKind[cell]), profile.processRoot[label], mark, 0);
      case BY.cgroup: return this.shape.step(this.shape.step(at, profile.cgroupRoot[label], MARK.none, 0), profile.processRoot[label], mark, 0);
      case BY.container: return this.shape.step(this.shape.step(at, profile.containerRoot[label], MARK.none, 0), profile.processRoot[label], mark, 0);
      default: return at;
    }
  }

  #waitRoot(at, kind) {
    const {kindWait, kindObject} = this.profile;
    at = this.shape.step(at, kindWait[kind], MARK.none, 0);
    return kindObject[kind] > 0 ? this.shape.step(at, kindObject[kind], MARK.none, 0) : at;
  }

  // stack is the node of a stack's last frame, with a mark.
  #stack(at, stack, mark) {
    const {stackName, stackModule, stackParent} = this.profile;
    if (this.view.reverse) return this.#reversed(at, stack, mark);
    if (mark === MARK.none) return this.#frame(at, stack);
    return this.shape.step(this.#frame(at, stackParent[stack]), stackName[stack], mark, stackModule[stack]);
  }

  #frame(root, stack) {
    if (stack === 0) return root;
    if (this.#lastRoot[stack] === root) return this.#lastNode[stack];
    const {stackName, stackModule, stackParent} = this.profile;
    const node = this.shape.step(this.#frame(root, stackParent[stack]), stackName[stack], MARK.none, stackModule[stack]);
    this.#lastRoot[stack] = root;
    this.#lastNode[stack] = node;
    return node;
  }

  #reversed(at, stack, mark) {
    const {stackName, stackModule, stackParent} = this.profile;
    for (; stack > 0; stack = stackParent[stack]) {
      at = this.shape.step(at, stackName[stack], stackParent[stack] > 0 ? MARK.none : mark, stackModule[stack]);
    }
    return at;
  }

  // wakers adds the stacks of the wakers that ended an off-CPU interval, innermost frame first, each with its thread's name above.
  #wakers(at, cell) {
    const {notes, cellWake, wakeStack, wakeLabel, wakeBefore, commRoot} = this.profile;
    let wake = cellWake.length > 0 ? cellWake[cell] : 0;
    if (wake === 0) return this.shape.step(this.shape.step(at, notes.wakerMark, MARK.none, 0), notes.notWoken, MARK.none, 0);
    for (; wake > 0; wake = wakeBefore[wake]) {
      at = this.#reversed(this.shape.step(at, notes.wakerMark, MARK.none, 0), wakeStack[wake], MARK.none);
      const label = wakeLabel[wake];
      at = this.shape.step(at, label > 0 ? commRoot[label] : notes.unknownWaker, MARK.none, 0);
    }
    return at;
  }
}
