// Protocol Buffers' wire format, as far as the engine's requests and replies need it.

export function message(...fields) {
  const out = [];
  for (const [number, value] of fields) {
    if (value === undefined) continue;
    if (typeof value === 'number') {
      out.push(varint(number * 8), varint(value));
    } else {
      out.push(varint(number * 8 + 2), varint(value.length), value);
    }
  }
  return Buffer.concat(out);
}

function varint(value) {
  const out = [];
  for (; value > 127; value = Math.floor(value / 128)) out.push(value % 128 | 128);
  out.push(value);
  return Buffer.from(out);
}

// Reader goes through a message. Lengths and varints may be used without fields: packed columns are read so, too.
export class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  get more() {
    return this.at < this.bytes.length;
  }

  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (!this.more) throw new Error('the engine sent half a number');
      const byte = this.bytes[this.at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  slice(length) {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  double() {
    this.at += 8;
    return this.bytes.readDoubleLE(this.at - 8);
  }

  // field is the next [number, value]: numbers as BigInt, everything else as bytes.
  field() {
    const tag = Number(this.varint());
    switch (tag % 8) {
      case 0: return [tag >> 3, this.varint()];
      case 1: return [tag >> 3, this.slice(8)];
      case 2: return [tag >> 3, this.slice(Number(this.varint()))];
      case 5: return [tag >> 3, this.slice(4)];
    }
    throw new Error(`the engine sent a field of unknown type ${tag % 8}`);
  }

  *[Symbol.iterator]() {
    while (this.more) yield this.field();
  }
}
