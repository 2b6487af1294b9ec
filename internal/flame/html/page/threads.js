const THREAD = 40; // height of a row, px

// Threads lists threads with their times; some can be chosen by mouse or keys. Only visible rows are created: there
// may be many thousands. It reports the choice by onChoose(set), null for all.
class Threads {
  listed = []; // numbers of threads
  #chosen = null;
  #active = 0; // row with the keyboard's focus
  filter = ''; // text that listed threads have in their name or id
  order = Threads.usualOrder;

  // At work is a thread that is on a CPU, waits for one, or is blocked, but for waits for work and those of which nothing is known.
  static usualOrder = 'work';

  constructor(profile, element) {
    this.profile = profile;
    this.list = element.querySelector('[role=listbox]');
    this.space = this.list.querySelector('.space');
    this.counts = element.querySelector('.counts');
    this.all = element.querySelector('.all');
    this.onChoose = () => {};
    this.onArrange = () => {};
    this.onList = () => {}; // the listed or the chosen threads have changed
    this.list.addEventListener('scroll', () => this.#draw());
    this.list.addEventListener('click', (event) => this.#click(event));
    this.list.addEventListener('keydown', (event) => this.#key(event));
    this.all.addEventListener('click', () => this.onChoose(null));
    this.these = element.querySelector('.these');
    this.these.addEventListener('click', () => this.onChoose(new Set(this.listed)));
    this.#setNumbers(element);
    this.input = element.querySelector('input');
    this.select = element.querySelector('select');
    for (const field of [this.input, this.select]) {
      field.addEventListener('input', () => {
        this.arrangeBy(this.input.value, this.select.value);
        this.onArrange();
      });
    }
    new ResizeObserver(() => this.#draw()).observe(this.list);
  }

  // setNumbers sets the heading and width of the column of ids: pid/tid, or only tid if there is one process.
  #setNumbers(element) {
    this.isOneProcess = this.profile.pid.every((pid) => pid === this.profile.pid[0]);
    element.querySelector('.columns .number').textContent = this.isOneProcess ? 'tid' : 'pid/tid';
    const longest = this.profile.tid.reduce((most, _, thread) => Math.max(most, this.numberOf(thread).length), 6);
    element.style.setProperty('--number', `${longest}ch`);
  }

  // arrangeBy lists the threads with a text in their name or id; an order that there is not is the usual one.
  arrangeBy(filter, order) {
    this.input.value = this.filter = filter;
    this.select.value = order;
    this.select.value ||= Threads.usualOrder;
    this.order = this.select.value;
    this.#active = 0;
    this.list.scrollTop = 0;
    if (this.times) this.#arrange();
  }

  // show shows the threads with their times in a view's range.
  show(view) {
    const {profile} = this;
    this.#chosen = view.threads;
    this.times = BANDS.map(() => new Float64Array(profile.threads));
    this.unknownWaits = new Float64Array(profile.threads); // of the blocked time
    for (let thread = 0; thread < profile.threads; thread++) {
      for (let cell = profile.cellsFrom[thread]; cell < profile.cellsFrom[thread + 1]; cell++) {
        const kind = profile.cellKind[cell];
        const ns = profile.nsWithin(cell, view.from, view.to);
        this.times[BAND_OF[profile.kindClass[kind]]][thread] += ns;
        if (profile.isUnknownWait(kind)) this.unknownWaits[thread] += ns;
      }
    }
    this.#arrange();
  }

  isChosen(thread) {
    return this.#chosen?.has(thread) ?? false;
  }

  choose(view) {
    this.#chosen = view.threads;
    this.#showCounts();
    this.#draw();
    this.onList();
  }

  // nameOf is the name of the thread's root frame without the ids.
  nameOf(thread) {
    const {profile} = this;
    const name = profile.name[profile.threadRoot[profile.threadLabel[thread]]];
    const ids = `-${profile.pid[thread]}/${profile.tid[thread]}`;
    return name.endsWith(ids) ? name.slice(0, -ids.length) : name;
  }

  numberOf(thread) {
    const {profile} = this;
    const tid = profile.tid[thread] > 0 ? profile.tid[thread] : 'ended';
    return this.isOneProcess ? `${tid}` : `${profile.pid[thread]}/${tid}`;
  }

  // off is the time off the CPU but for waits for work.
  #off(thread) {
    return this.times[1][thread] + this.times[2][thread];
  }

  #arrange() {
    const {profile} = this;
    const all = Array.from({length: profile.threads}, (_, i) => i);
    const text = (thread) => `${this.nameOf(thread)} ${this.numberOf(thread)}`.toLowerCase();
    const filter = this.filter.toLowerCase();
    this.listed = filter ? all.filter((thread) => text(thread).includes(filter)) : all;
    const value = {
      work: (thread) => this.unknownWaits[thread] - this.times[0][thread] - this.#off(thread),
      on: (thread) => -this.times[0][thread],
      runnable: (thread) => -this.times[1][thread],
      blocked: (thread) => -this.times[2][thread],
      tid: (thread) => profile.tid[thread],
    }[this.order];
    this.listed.sort((a, b) => value(a) - value(b) || a - b);
    this.#active = Math.min(this.#active, Math.max(0, this.listed.length - 1));
    this.space.style.height = `${this.listed.length * THREAD}px`;
    this.#showCounts();
    this.#draw();
    this.onList();
  }

  #showCounts() {
    const all = this.profile.threads;
    const listed = this.listed.length < all ? `${grouped(this.listed.length)} of ` : '';
    const chosen = this.#chosen ? `, ${grouped(this.#chosen.size)} chosen` : '';
    this.counts.textContent = `${listed}${counted(all, 'thread')}${chosen}`;
    this.all.disabled = this.#chosen === null;
    this.these.hidden = this.listed.length === all || this.listed.length === 0;
  }

  #draw() {
    if (!this.times) return;
    const first = Math.max(0, Math.floor(this.list.scrollTop / THREAD) - 4);
    const last = Math.min(this.listed.length, Math.ceil((this.list.scrollTop + this.list.clientHeight) / THREAD) + 4);
    const rows = [];
    for (let row = first; row < last; row++) rows.push(this.#row(row));
    this.space.replaceChildren(...rows);
    this.list.setAttribute('aria-activedescendant', this.listed.length > 0 ? `thread-${this.listed[this.#active]}` : '');
  }

  #row(row) {
    const thread = this.listed[row];
    const element = document.createElement('div');
    element.className = 'thread';
    element.id = `thread-${thread}`;
    const aria = {role: 'option', 'aria-selected': this.isChosen(thread), 'aria-posinset': row + 1, 'aria-setsize': this.listed.length};
    for (const [name, value] of Object.entries(aria)) element.setAttribute(name, value);
    element.classList.toggle('active', row === this.#active);
    element.style.top = `${row * THREAD}px`;
    element.dataset.row = row;
    element.title = this.#hint(thread);
    element.append(...[
      ['name', this.nameOf(thread)], ['number', this.numberOf(thread)],
      ['on', spell(this.times[0][thread])], ['off', spell(this.#off(thread))],
    ].map(([kind, text]) => {
      const part = document.createElement('span');
      part.className = kind;
      part.textContent = text;
      return part;
    }), this.#bar(thread));
    return element;
  }

  #hint(thread) {
    const unknown = this.unknownWaits[thread] > 0 ? `, ${spell(this.unknownWaits[thread])} of it unknown waits` : '';
    const times = this.times.map((of, i) => `${BANDS[i]}: ${spell(of[thread])}${i === BAND_OF[CLASS.blocked] ? unknown : ''}`);
    return [`${this.nameOf(thread)} ${this.numberOf(thread)}`, ...times].join('\n');
  }

  // bar is a bar of the thread's time by what it did.
  #bar(thread) {
    const bar = document.createElement('div');
    bar.className = 'bar';
    const whole = this.times.reduce((sum, of) => sum + of[thread], 0);
    this.times.forEach((of, i) => {
      const part = document.createElement('i');
      part.className = `time-${i}`;
      part.style.width = `${whole > 0 ? 100 * of[thread] / whole : 0}%`;
      bar.append(part);
    });
    return bar;
  }

  #click(event) {
    const row = event.target.closest('.thread')?.dataset.row;
    if (row === undefined) return;
    const from = this.#active;
    this.#active = Number(row);
    this.#take(event, from);
  }

  // take chooses the active row alone, with Ctrl adds or removes it, and with Shift chooses all rows between it and another one.
  #take(event, from) {
    const thread = this.listed[this.#active];
    const rows = this.listed.slice(Math.min(from, this.#active), Math.max(from, this.#active) + 1);
    if (event.shiftKey) this.onChoose(new Set(rows));
    else if (event.ctrlKey || event.metaKey) this.onChoose(this.#toggled(thread));
    else this.onChoose(this.#chosen?.size === 1 && this.#chosen.has(thread) ? null : new Set([thread]));
  }

  #toggled(thread) {
    const chosen = new Set(this.#chosen ?? []);
    if (!chosen.delete(thread)) chosen.add(thread);
    return chosen.size > 0 ? chosen : null;
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.list.clientHeight / THREAD) - 1);
    const last = this.listed.length - 1;
    const by = {ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -last, End: last}[event.key];
    if (last < 0 || event.altKey) return;
    if (event.key === 'Enter' || event.key === ' ') {
      this.#take(event, this.#active);
    } else if (event.key === 'a' && (event.ctrlKey || event.metaKey)) {
      this.onChoose(new Set(this.listed));
    } else if (by !== undefined) {
      this.#active = Math.max(0, Math.min(last, this.#active + by));
      const top = this.#active * THREAD;
      this.list.scrollTop = Math.max(top + THREAD - this.list.clientHeight, Math.min(top, this.list.scrollTop));
      this.#draw();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
