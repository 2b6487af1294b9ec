// isOnCPU is whether a thread had the CPU. CLASS is what a thread did, from internal/flame/html/class.go.
const isOnCPU = (kind) => kind === CLASS.onCPU || kind === CLASS.interrupt;

// Profile is the profile of internal/flame/profile in columns. Names, stacks, labels and wakes have 0 for none.
class Profile {
  constructor(about, packed) {
    this.slot = about.slot;
    this.slots = about.slot > 0 ? about.slots : 0;
    this.isSpread = about.spread; // on-CPU time is divided among samples, see Attribution
    this.period = about.period; // of samples, ns; 0: unknown
    this.notSampled = about.notSampled; // the stack
    this.span = about.span;
    this.window = about.window;
    this.hasCgroups = about.cgroups;
    this.base = about.base; // what it is compared with; undefined: nothing
    this.notes = {wakerMark: about.wakerMark, notWoken: about.notWoken, unknownWaker: about.unknownWaker, idle: about.idle};
    this.#readNames(about, packed);
    this.#readStacks(about, packed);
    this.#readLabels(about, packed);
    this.#readWakes(about, packed);
    this.#readKinds(about, packed);
    this.#readThreads(about, packed);
  }

  get hasCPUs() {
    return this.cpuRoot.length > 1;
  }

  get hasWakes() {
    return this.wakeStack.length > 1;
  }

  // Names are sorted, so their numbers are in the same order.
  #readNames(about, packed) {
    this.name = [''];
    this.nameKind = new Uint8Array(about.names + 1);
    this.nameKind[0] = KIND.root;
    packed.texts(about.names, (i, text, kind) => {
      this.name.push(text);
      this.nameKind[i + 1] = kind;
    });
  }

  #readStacks(about, packed) {
    this.module = Array.from({length: about.modules}, () => packed.text());
    const names = new Uint32Array(about.symbols);
    const modules = new Uint32Array(about.symbols);
    for (let i = 0; i < about.symbols; i++) {
      names[i] = packed.number();
      modules[i] = packed.number();
    }
    this.stackParent = new Uint32Array(about.nodes);
    this.stackName = new Uint32Array(about.nodes);
    this.stackModule = new Uint32Array(about.nodes);
    for (let i = 1; i < about.nodes; i++) this.stackParent[i] = i - packed.number();
    for (let i = 1; i < about.nodes; i++) {
      const symbol = packed.number();
      this.stackName[i] = names[symbol];
      this.stackModule[i] = modules[symbol];
    }
  }

  #readLabels(about, packed) {
    this.processRoot = new Uint32Array(about.labels);
    this.threadRoot = new Uint32Array(about.labels);
    this.commRoot = new Uint32Array(about.labels);
    this.cgroupRoot = new Uint32Array(about.labels);
    this.containerRoot = new Uint32Array(about.labels);
    for (let i = 0; i < about.labels; i++) {
      this.processRoot[i] = packed.number();
      this.threadRoot[i] = packed.number();
      this.commRoot[i] = packed.number();
      this.cgroupRoot[i] = packed.number();
      this.containerRoot[i] = packed.number();
    }
    this.cpuRoot = new Uint32Array(about.cpus + 1);
    for (let i = 0; i <= about.cpus; i++) this.cpuRoot[i] = packed.number();
  }

  #readWakes(about, packed) {
    this.wakeLabel = new Uint32Array(about.wakes);
    this.wakeStack = new Uint32Array(about.wakes);
    this.wakeBefore = new Uint32Array(about.wakes);
    for (let i = 1; i < about.wakes; i++) {
      this.wakeLabel[i] = packed.number();
      this.wakeStack[i] = packed.number();
      this.wakeBefore[i] = packed.number();
    }
  }

  // A kind is a class of time and the names of its notes, without and with reasons, and of what threads waited for: of its class and of itself.
  #readKinds(about, packed) {
    this.kindClass = new Uint8Array(about.kinds);
    this.kindNote = new Uint32Array(about.kinds);
    this.kindReason = new Uint32Array(about.kinds);
    this.kindWait = new Uint32Array(about.kinds);
    this.kindObject = new Uint32Array(about.kinds);
    for (let i = 0; i < about.kinds; i++) {
      this.kindClass[i] = packed.number();
      this.kindNote[i] = packed.number();
      this.kindReason[i] = packed.number();
      this.kindWait[i] = packed.number();
      this.kindObject[i] = packed.number();
    }
  }

  // isUnknownWait is whether threads were blocked, and it is not known for what.
  isUnknownWait(kind) {
    return this.kindClass[kind] === CLASS.blocked && this.nameKind[this.kindWait[kind]] === KIND.wait;
  }

  #readThreads(about, packed) {
    this.tid = new Int32Array(about.threads);
    this.pid = new Int32Array(about.threads);
    this.threadLabel = new Uint32Array(about.threads);
    this.lifetime = new Float64Array(about.threads);
    this.cellsFrom = new Uint32Array(about.threads + 1); // cells of thread i end where those of i+1 begin
    this.cellKind = new (about.kinds <= 2 ** 16 ? Uint16Array : Uint32Array)(about.cells);
    this.cellLabel = new Uint32Array(about.cells);
    this.cellStack = new Uint32Array(about.cells);
    this.cellCPU = new Uint16Array(about.cpus ? about.cells : 0);
    this.cellWake = new Uint32Array(about.wakes > 1 ? about.cells : 0);
    this.cellNs = new Float64Array(about.cells);
    this.cellCount = new Float64Array(about.cells); // samples on the CPU, off-CPU intervals
    this.cellWaits = new Float64Array(about.cells); // for a CPU, each part of an off-CPU interval
    this.slotTimesFrom = new Uint32Array(about.cells + 1);
    this.slotTimeSlot = new Uint32Array(about.slotTimes);
    this.samplesFrom = new Uint32Array(about.cells + 1);
    this.samplesSlot = new Uint32Array(about.sampleSlots);
    this.samplesCount = new Uint32Array(about.sampleSlots);
    this.slotTimeNs = new (about.longest < 2 ** 32 ? Uint32Array : Float64Array)(about.slotTimes);
    for (let thread = 0; thread < about.threads; thread++) {
      this.tid[thread] = packed.signed();
      this.pid[thread] = packed.signed();
      this.threadLabel[thread] = packed.number();
      this.lifetime[thread] = packed.number();
      this.#readCells(thread, packed);
    }
  }

  #readCells(thread, packed) {
    const from = this.cellsFrom[thread];
    const to = from + packed.number();
    this.cellsFrom[thread + 1] = to;
    for (let i = from; i < to; i++) this.cellKind[i] = packed.number();
    for (let i = from; i < to; i++) this.cellLabel[i] = packed.number();
    for (let i = from, stack = 0; i < to; i++) this.cellStack[i] = stack += packed.signed();
    if (this.cellCPU.length) for (let i = from; i < to; i++) this.cellCPU[i] = packed.number();
    if (this.cellWake.length) for (let i = from; i < to; i++) this.cellWake[i] = packed.number();
    for (let i = from; i < to; i++) {
      this.#readTimes(i, packed);
      this.#readSamples(i, packed);
    }
  }

  #readTimes(cell, packed) {
    this.cellCount[cell] = packed.number();
    this.cellWaits[cell] = packed.number();
    let ns = packed.signed();
    const from = this.slotTimesFrom[cell];
    const to = from + packed.number();
    this.slotTimesFrom[cell + 1] = to;
    for (let i = from, slot = 0; i < to; i++, slot++) this.slotTimeSlot[i] = slot += packed.number();
    for (let i = from; i < to; i++) ns += this.slotTimeNs[i] = packed.number() || this.slot;
    this.cellNs[cell] = ns;
  }

  #readSamples(cell, packed) {
    const from = this.samplesFrom[cell];
    const to = from + (this.isSpread && this.kindClass[this.cellKind[cell]] === CLASS.onCPU ? packed.number() : 0);
    this.samplesFrom[cell + 1] = to;
    for (let i = from, slot = 0; i < to; i++, slot++) this.samplesSlot[i] = slot += packed.number();
    for (let i = from; i < to; i++) this.samplesCount[i] = packed.number();
  }

  // isLarge is whether on-CPU time has enough samples to be divided by itself.
  isLarge(ns) {
    return this.period > 0 && Math.floor(ns / 10) >= this.period;
  }

  // stackOf is the stack that a cell shows.
  stackOf(cell) {
    const isTime = this.isSpread && this.cellStack[cell] === 0 && this.kindClass[this.cellKind[cell]] === CLASS.onCPU;
    return isTime ? this.notSampled : this.cellStack[cell];
  }

  // threads is the number of threads; those of base come after them.
  get threads() {
    return this.base?.thread ?? this.tid.length;
  }

  // scaleOfBase is the length of a view's time range divided by that of base.
  scaleOfBase({from, to}) {
    const window = to > 0 ? Math.min(to * this.slot, this.span) - from * this.slot : this.window;
    return window > 0 && this.base.window > 0 ? window / this.base.window : 1;
  }

  // nsWithin is the time of a cell in the slots from `from` to before `to`; all of it if to is 0.
  nsWithin(cell, from, to) {
    if (to === 0) return this.cellNs[cell];
    let ns = 0;
    const end = this.slotTimesFrom[cell + 1];
    for (let i = slotAt(this.slotTimeSlot, this.slotTimesFrom[cell], end, from); i < end && this.slotTimeSlot[i] < to; i++) ns += this.slotTimeNs[i];
    return ns;
  }

  // samplesWithin is the number of samples of a cell in the slots from `from` to before `to`; all of them if to is 0.
  samplesWithin(cell, from, to) {
    if (to === 0) return this.cellCount[cell];
    let count = 0;
    const end = this.samplesFrom[cell + 1];
    for (let i = slotAt(this.samplesSlot, this.samplesFrom[cell], end, from); i < end && this.samplesSlot[i] < to; i++) count += this.samplesCount[i];
    return count;
  }

  // countsWithin are a cell's counts in a part of its time. They are not kept for each slot, so they are in proportion to time.
  countsWithin(cell, ns) {
    return [this.cellCount[cell], this.cellWaits[cell]].map((count) => Math.floor(count * ns / this.cellNs[cell] + 0.5));
  }
}

// slotAt is the first entry of sorted slots, between two entries, that is not before a slot.
function slotAt(slots, low, high, slot) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (slots[middle] < slot) low = middle + 1;
    else high = middle;
  }
  return low;
}
