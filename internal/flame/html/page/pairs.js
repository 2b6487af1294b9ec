// Pairs numbers pairs of numbers in the order of their first use. It is a hash table in typed arrays: a Map of
// a million graph nodes takes ten times as much time and memory.
class Pairs {
  #first = new Uint32Array(1 << 10);
  #second = new Uint32Array(1 << 10);
  #slots = new Int32Array(1 << 11).fill(-1);
  length = 0;

  // add returns the number of a pair, which it adds if it is new.
  add(first, second) {
    let slot = this.#hash(first, second);
    for (let found; (found = this.#slots[slot]) >= 0; slot = (slot + 1) & (this.#slots.length - 1)) {
      if (this.#first[found] === first && this.#second[found] === second) return found;
    }
    if (this.length === this.#first.length) {
      this.#grow();
      return this.add(first, second);
    }
    this.#first[this.length] = first;
    this.#second[this.length] = second;
    this.#slots[slot] = this.length;
    return this.length++;
  }

  #hash(first, second) {
    let h = Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
    return (h ^ (h >>> 13)) & (this.#slots.length - 1);
  }

  #grow() {
    this.#first = grown(this.#first, 2 * this.length);
    this.#second = grown(this.#second, 2 * this.length);
    this.#slots = new Int32Array(4 * this.length).fill(-1);
    for (let i = 0; i < this.length; i++) {
      let slot = this.#hash(this.#first[i], this.#second[i]);
      while (this.#slots[slot] >= 0) slot = (slot + 1) & (this.#slots.length - 1);
      this.#slots[slot] = i;
    }
  }
}

// grown is a copy of a typed array with more room.
function grown(array, length) {
  const larger = new array.constructor(length);
  larger.set(array);
  return larger;
}
