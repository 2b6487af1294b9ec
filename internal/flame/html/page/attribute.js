// Quality is how well the samples of a view cover its on-CPU time; internal/flame/profile's Quality.
class Quality {
  onCPU = 0; // ns
  notSampled = 0; // ns of it without a stack
  borrowed = 0; // ns of it of threads without samples, with the stacks of other threads
  samples = 0;
  #squares = 0;

  // add adds time that is divided among samples.
  add(ns, samples) {
    this.#squares += ns * ns / samples;
  }

  // standardError is the largest one that the share of any function may have: that of a function with half of the time.
  get standardError() {
    const sampled = this.onCPU - this.notSampled;
    return sampled > 0 ? 0.5 * Math.sqrt(this.#squares) / sampled : 0;
  }

  // texts are the parts of a caption, as internal/flame/graph's HowSampled makes them.
  texts(about) {
    const parts = [`${about.sources}, ${counted(this.samples, 'sample')}`];
    if (this.onCPU === 0 || !about.isSampled) return parts;
    const reported = 0.01;
    if (!about.spread) parts.push('each on-CPU interval by its own samples');
    if (this.borrowed / this.onCPU >= reported) {
      parts.push(`${percent(this.borrowed, this.onCPU)} of the time on CPU from samples of other threads of the same name`);
    }
    if (this.notSampled / this.onCPU >= reported) parts.push(`${percent(this.notSampled, this.onCPU)} of the time on CPU not sampled`);
    if (this.standardError >= reported) {
      parts.push(`shares of the time on CPU ± ${trimmed((100 * this.standardError).toFixed(1))} points (standard error)`);
    }
    return parts;
  }
}

// Pool is the on-CPU time of one thread under one name, or of several, and the samples that it is divided among.
class Pool {
  ns = 0;
  unsampled = 0; // ns of threads without samples
  count = 0;
  cells = []; // with samples
  counts = []; // of these
  timeCell = -1; // one with time

  constructor(cell, isJoined) {
    this.cell = cell;
    this.isJoined = isJoined;
  }

  join(one) {
    this.ns += one.ns;
    this.count += one.count;
    this.unsampled += one.count === 0 ? one.ns : one.unsampled;
    if (this.timeCell < 0) this.timeCell = one.timeCell;
    this.borrow(one);
  }

  borrow({cells, counts}) {
    for (let i = 0; i < cells.length; i++) {
      this.cells.push(cells[i]);
      this.counts.push(counts[i]);
    }
  }
}

// Attribution divides on-CPU time among samples, as internal/flame/profile's Attribute does: see there. It reports each part by
// add(cell, ns, count).
class Attribution {
  constructor(profile, view, add) {
    Object.assign(this, {profile, view, add});
    this.quality = new Quality();
  }

  // keep takes a part that was made interval by interval.
  keep(cell, ns, count) {
    const {quality} = this;
    quality.onCPU += ns;
    quality.samples += count;
    if (this.profile.cellStack[cell] === this.profile.notSampled) quality.notSampled += ns;
    else if (count > 0) quality.add(ns, count);
  }

  // run divides the time of the view. It yields from time to time.
  *run() {
    const all = [];
    for (let thread = 0; thread < this.profile.tid.length; thread++) {
      if (this.view.hasThread(thread)) this.#collect(thread, all);
      if (thread % 64 === 0) yield;
    }
    const anyProcess = ![BY.process, BY.wait, BY.cgroup, BY.container].includes(this.view.by);
    let small = all;
    if (this.view.by !== BY.thread) {
      small = this.#divideLarge(all, false);
      if (anyProcess) small = this.#divideLarge(small, true);
      yield;
      this.#lend(small, all, anyProcess);
    }
    for (const one of small) this.#divide(one);
  }

  // collect makes a pool of each name of a thread.
  #collect(thread, all) {
    const {profile, view} = this;
    const pools = new Map();
    for (let cell = profile.cellsFrom[thread]; cell < profile.cellsFrom[thread + 1]; cell++) {
      if (profile.kindClass[profile.cellKind[cell]] !== CLASS.onCPU) continue;
      const ns = profile.nsWithin(cell, view.from, view.to);
      const samples = profile.samplesWithin(cell, view.from, view.to);
      if (ns === 0 && samples === 0) continue;
      const key = profile.cellLabel[cell] * 65536 + this.#cpu(cell);
      let pool = pools.get(key);
      if (!pool) {
        pool = new Pool(cell, profile.tid[thread] === 0);
        pools.set(key, pool);
        all.push(pool);
      }
      pool.ns += ns;
      if (ns > 0 && pool.timeCell < 0) pool.timeCell = cell;
      if (profile.cellStack[cell] === profile.notSampled) pool.unsampled += ns; // merged threads
      else if (samples > 0) {
        pool.count += samples;
        pool.cells.push(cell);
        pool.counts.push(samples);
      }
    }
  }

  #cpu(cell) {
    return this.view.by === BY.cpu ? this.profile.cellCPU[cell] : 0;
  }

  // key is that of the larger pool that a pool belongs to.
  #key({cell}, anyProcess) {
    const {profile} = this;
    const label = profile.cellLabel[cell];
    const cgroup = this.view.by >= BY.cgroup ? profile.cgroupRoot[label] : 0;
    return `${anyProcess ? 0 : profile.processRoot[label]} ${profile.commRoot[label]} ${this.#cpu(cell)} ${cgroup}`;
  }

  // divideLarge divides the time of the pools that are large enough, and returns the others, joined into larger ones.
  #divideLarge(all, anyProcess) {
    const joined = new Map();
    for (const one of all) {
      if (one.count > 0 && !one.isJoined && this.profile.isLarge(one.ns)) {
        this.#divide(one);
        continue;
      }
      const key = this.#key(one, anyProcess);
      if (!joined.has(key)) joined.set(key, new Pool(one.cell, false));
      joined.get(key).join(one);
    }
    return [...joined.values()];
  }

  // lend gives pools without samples those of all others in the same largest pool.
  #lend(borrowers, lenders, anyProcess) {
    const poor = new Map();
    for (const one of borrowers) if (one.count === 0) poor.set(this.#key(one, anyProcess), one);
    if (poor.size === 0) return;
    for (const one of lenders) poor.get(this.#key(one, anyProcess))?.borrow(one);
  }

  #divide(one) {
    const {quality, profile: {cellStack}} = this;
    quality.onCPU += one.ns;
    quality.samples += one.count;
    if (one.cells.length === 0) {
      quality.notSampled += one.ns;
      this.add(one.timeCell, one.ns, 0);
      return;
    }
    const isBorrowed = one.count === 0;
    quality.borrowed += isBorrowed ? one.ns : one.unsampled;
    const count = one.counts.reduce((sum, n) => sum + n, 0);
    quality.add(one.ns, count);
    const order = Array.from(one.cells, (_, i) => i).sort((a, b) => cellStack[one.cells[a]] - cellStack[one.cells[b]]);
    let done = 0;
    let given = 0;
    for (const i of order) {
      done += one.counts[i];
      const until = partOf(one.ns, done, count);
      this.add(one.cells[i], until - given, isBorrowed ? 0 : one.counts[i]);
      given = until;
    }
  }
}

// partOf is ns * done / count, rounded down, without a product that is larger than count squared.
function partOf(ns, done, count) {
  const rest = ns % count;
  const small = rest * done;
  return (ns - rest) / count * done + (small - small % count) / count;
}
