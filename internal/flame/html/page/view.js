// The time that is shown; internal/flame/graph's Mode.
const MODE = {wall: 0, onCPU: 1, offCPU: 2, waker: 3};

// What root frames stand for; internal/flame/graph's Root.
const BY = {process: 0, thread: 1, comm: 2, cpu: 3, none: 4, wait: 5, cgroup: 6, container: 7};

// rootsOf are the root frames that a profile has.
const rootsOf = (profile) => Object.values(BY).filter((by) => (by !== BY.cpu || profile.hasCPUs) && (by < BY.cgroup || profile.hasCgroups));

// View selects which part of a profile is shown, and with which frames. It is immutable.
class View {
  mode = MODE.wall;
  by = BY.process;
  states = false; // with a frame for why a thread was off the CPU
  reverse = false; // innermost frame first
  idle = true; // with waits for work
  fold = false; // these in one frame at the root, which is drawn narrower
  from = 0; // slots, to excluded; both 0: all time
  to = 0;
  threads = null; // a Set of numbers of threads; null: all

  constructor(values) {
    Object.assign(this, values);
    Object.freeze(this);
  }

  with(values) {
    return new View({...this, ...values});
  }

  get isRange() {
    return this.to > 0;
  }

  // has is whether time of a class is shown.
  has(kind) {
    if (kind === CLASS.idle && !this.idle) return false;
    if (this.mode === MODE.onCPU) return isOnCPU(kind);
    if (this.mode === MODE.wall) return true;
    return !isOnCPU(kind) && kind !== CLASS.unknown;
  }

  // hasThread is whether a thread is shown.
  hasThread(thread) {
    return this.threads === null || this.threads.has(thread);
  }
}
