// Palette has the colours of boxes, which the style sheet sets for light or dark: see internal/flame/web/palette.go.
class Palette {
  constructor(style) {
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    this.tones = {};
    for (let i = 0; i < 3 * SHARES * SHADES; i++) this.tones[`t${i}`] = inked(of(`t${i}`));
    for (let i = 0; i < 2 * (2 * STEPS + 1); i++) this.tones[`d${i}`] = inked(of(`d${i}`));
    for (const name of ['root', 'note', 'note-on', 'note-off', 'delay', 'unknown', 'idle', 'small', 'past', 'hit']) this.tones[name] = inked(of(name));
    for (let i = 0, tone; (tone = of(`wait-${i}`)); i++) this.tones[`wait-${i}`] = inked(tone);
    for (const name of ['page', 'text', 'faint', 'line', 'accent']) this[name] = of(name);
    this.times = BANDS.map((_, i) => of(`time-${i}`));
  }

  // box is the fill and ink of a frame by its name and times.
  box(name, kind, on, off) {
    return this.tones[toneOf(kind, name, on, off)];
  }
}

// inked chooses black or white text for a colour by contrast: the better one has at least the 4.5:1 that WCAG AA requires.
function inked(fill) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16) / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return {fill, ink: 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff'};
}
