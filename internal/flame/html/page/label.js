// Labels shortens names to the width of boxes.
class Labels {
  #widths = new Map(); // of whole texts, px

  constructor(context) {
    this.context = context;
  }

  // fit shortens a text to a width; '' if too little of it would be left.
  fit(text, isFunction, room) {
    return fitted(text, isFunction, (form) => this.#width(form) <= room,
      (form, place) => this.#cut(form, room - this.#width(place), place ? 1 : 2));
  }

  // #cut cuts a text at its end; '' if fewer letters than least would be left.
  #cut(text, room, least) {
    if (this.#width(text) <= room) return text;
    let length = Math.min(text.length - 1, Math.ceil(text.length * room / this.#width(text)) + 2);
    while (length >= least && this.context.measureText(`${text.slice(0, length)}…`).width > room) length--;
    return length >= least ? `${text.slice(0, length)}…` : '';
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
