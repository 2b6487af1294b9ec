// Tooltip shows lines beside the mouse, inside the window.
class Tooltip {
  constructor(element) {
    this.element = element;
  }

  // show shows lines; undefined: none.
  show(lines, event) {
    this.element.hidden = !lines;
    if (!lines) return;
    this.element.replaceChildren(...lines.map((line) => {
      const row = document.createElement('div');
      row.textContent = line;
      return row;
    }));
    const {width, height} = this.element.getBoundingClientRect();
    const beside = (at, size, room) => Math.max(4, at + 14 + size > room ? Math.min(at - size - 10, room - size - 4) : at + 14);
    this.element.style.left = `${beside(event.clientX, width, innerWidth)}px`;
    this.element.style.top = `${beside(event.clientY, height, innerHeight)}px`;
  }
}
