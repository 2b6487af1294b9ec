// Labels shortens names to the width of boxes.
class Labels {
  #widths = new Map(); // of whole texts, px

  constructor(context) {
    this.context = context;
  }

  // fit shortens a text to a width; '' if too little of it would be left.
  fit(text, isFunction, room) {
    return fitted(text, isFunction, (form) => this.#width(form) <= room, (form) => this.#cut(form, room));
  }

  // #cut cuts a text at its end.
  #cut(text, room) {
    if (this.#width(text) <= room) return text;
    let length = Math.min(text.length - 1, Math.ceil(text.length * room / this.#width(text)) + 2);
    while (length > 1 && this.context.measureText(`${text.slice(0, length)}…`).width > room) length--;
    return length > 1 ? `${text.slice(0, length)}…` : '';
  }

  #width(text) {
    let width = this.#widths.get(text);
    if (width === undefined) {
      width = this.context.measureText(text).width;
      this.#widths.set(text, width);
    }
    return width;
  }
}
