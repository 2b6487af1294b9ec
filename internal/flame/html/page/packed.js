// Packed reads the page's data elements, deflated and in base64: varints (seven bits a byte, lowest first), and
// texts after their length.
class Packed {
  #bytes;
  #at = 0;
  #decoder = new TextDecoder();

  constructor(bytes) {
    this.#bytes = bytes;
  }

  // open unpacks the elements, and empties them to free their memory.
  static async open(elements, size) {
    if (!globalThis.DecompressionStream) {
      throw new Error('this browser cannot unpack the profile (it lacks DecompressionStream); use a version from 2023 or later');
    }
    const inflate = new DecompressionStream('deflate-raw');
    const fed = Packed.#feed(elements, inflate.writable.getWriter());
    fed.catch(() => {}); // the reader reports the same error
    const bytes = new Uint8Array(size);
    let at = 0;
    const reader = inflate.readable.getReader();
    for (;;) {
      const {done, value} = await reader.read();
      if (done) break;
      bytes.set(value, at);
      at += value.length;
    }
    await fed;
    if (at !== size) throw new Error('the profile in this page is cut short; get a whole copy of the file');
    return new Packed(bytes);
  }

  static async #feed(elements, writer) {
    for (const element of elements) {
      const text = atob(element.textContent);
      element.remove();
      const part = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) part[i] = text.charCodeAt(i);
      await writer.write(part);
    }
    await writer.close();
  }

  number() {
    let n = 0;
    let size = 1;
    for (;;) {
      const byte = this.#bytes[this.#at++];
      if (byte < 0x80) return n + byte * size;
      n += (byte - 0x80) * size;
      size *= 0x80;
    }
  }

  signed() {
    const n = this.number();
    return n % 2 === 0 ? n / 2 : -(n + 1) / 2;
  }

  // bytes are the bytes of a text, without a copy.
  bytes() {
    const length = this.number();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  text() {
    return this.#decoder.decode(this.bytes());
  }

  // texts reads a list of texts, each without the prefix that it shares with the one before, and with a number after it.
  texts(count, visit) {
    let whole = new Uint8Array(256);
    for (let i = 0; i < count; i++) {
      const shared = this.number();
      const rest = this.bytes();
      const length = shared + rest.length;
      if (length > whole.length) {
        const larger = new Uint8Array(2 * length);
        larger.set(whole);
        whole = larger;
      }
      whole.set(rest, shared);
      visit(i, this.#decoder.decode(whole.subarray(0, length)), this.number());
    }
  }
}
