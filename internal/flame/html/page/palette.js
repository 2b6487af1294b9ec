// Palette has the colours of boxes as the style sheet sets them for light or dark: see internal/flame/palette.go.
class Palette {
  static #shares = 9; // blends of time off and on the CPU, 0 only off
  static #shades = 3; // so that neighbours are told apart

  constructor(style) {
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    this.tones = Array.from({length: 2 * Palette.#shares * Palette.#shades}, (_, i) => inked(of(`t${i}`)));
    this.root = inked(of('root'));
    this.notes = {on: inked(of('note-on')), off: inked(of('note-off')), both: inked(of('note'))};
    this.unknown = inked(of('unknown'));
    this.small = inked(of('small'));
    this.past = inked(of('past'));
    this.hit = inked(of('hit'));
    for (const name of ['page', 'text', 'faint', 'line', 'accent']) this[name] = of(name);
    this.times = BANDS.map((_, i) => of(`time-${i}`));
  }

  // box is the fill and ink of a frame by its name and times.
  box(name, kind, on, off) {
    if (kind === KIND.root) return this.root;
    if (kind === KIND.note) return this.notes[on > 0 && off === 0 ? 'on' : off > 0 && on === 0 ? 'off' : 'both'];
    if (on + off === 0) return this.unknown;
    const share = Math.floor(on / (on + off) * (Palette.#shares - 1) + 0.5) + (kind === KIND.kernel ? Palette.#shares : 0);
    return this.tones[share * Palette.#shades + name % Palette.#shades];
  }
}

// inked finds which of black and white reads better on a colour: the better one has at least the 4.5:1 that AA asks for.
function inked(fill) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16) / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return {fill, ink: 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff'};
}
