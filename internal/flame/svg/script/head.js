// Title, subtitle, legend and controls, broken into lines by the available width.

const SVG = 'http://www.w3.org/2000/svg', XHTML = 'http://www.w3.org/1999/xhtml';
const LINE = 18, TOOLS = 30, NARROW = 1000;

function element(space, tag, attributes = {}, text = '') {
  const e = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  if (text) e.textContent = text;
  return e;
}

// controls makes the controls. They are not in the file, because they do nothing without the script.
function controls(svg, t) {
  const box = element(SVG, 'foreignObject', {height: TOOLS});
  const bar = box.appendChild(element(XHTML, 'div', {class: 'tools'}));
  const add = (tag, attributes, text) => bar.appendChild(element(XHTML, tag, attributes, text));
  const found = add('output', {class: 'found', 'aria-live': 'polite'});
  const search = add('input', {
    class: 'search', type: 'search', placeholder: 'Search', 'aria-label': 'Search for frames, by text or regular expression',
    title: 'Text or, if no name has it, a regular expression; case matters if there are capitals (/ or Ctrl-F)', spellcheck: 'false', autocomplete: 'off',
  });
  const reset = add('button', {class: 'reset', type: 'button', title: 'Show everything (Esc)'}, 'Reset zoom');
  const flip = add('button', {class: 'flip', type: 'button', title: 'Turn upside down (i)'}, 'Flip');
  const widths = t.changes ? add('button', {class: 'widths', type: 'button', title: 'What widths show: now, before or the larger of both (w)'}) : null;
  const status = add('div', {class: 'unseen', 'aria-live': 'polite'});
  // The head stays visible, in front of the frames that scroll past it.
  const head = svg.querySelector('.head'), screen = element(SVG, 'rect', {class: 'page', width: '100%'});
  head.prepend(screen);
  head.append(box);
  svg.append(head);
  for (const hint of ['click: zoom', 'arrows: move', '/: search', 'Esc: back']) {
    svg.querySelector('.legend').appendChild(element(SVG, 'g')).append(element(SVG, 'text', {}, hint));
  }
  return {head, screen, box, bar, found, search, reset, flip, widths, status};
}

// flow places the children of groups beside each other, in lines; it returns the last line's baseline.
function flow(group, y, width, margin, gap) {
  let x = margin;
  for (const child of group.children) {
    const own = child.getBBox();
    const wide = own.x + own.width;
    if (x > margin && x + wide > width - margin) {
      x = margin;
      y += LINE;
    }
    child.setAttribute('transform', `translate(${x} ${y})`);
    x += Math.ceil(wide) + gap;
  }
  return y;
}

// arrange lays out the head for a width and returns where it ends.
function arrange(svg, tools, title, width, margin) {
  const beside = width >= NARROW;
  const toolsWidth = beside ? 560 : width - 2 * margin;
  const shown = svg.querySelector('.title');
  shown.textContent = title;
  const room = width - 2 * margin - (beside ? toolsWidth : 0);
  for (let cut = [...title]; cut.length > 1 && shown.getComputedTextLength() > room;) {
    cut = cut.slice(0, Math.min(cut.length - 1, Math.ceil(cut.length * room / shown.getComputedTextLength())));
    shown.textContent = `${cut.join('')}…`;
  }
  let y = flow(svg.querySelector('.parts'), 52, width, margin, 5);
  if (!beside) {
    y += TOOLS + 12;
    place(tools.box, margin, y - TOOLS, toolsWidth, TOOLS);
  } else {
    place(tools.box, width - margin - toolsWidth, 10, toolsWidth, TOOLS);
  }
  tools.bar.classList.toggle('narrow', !beside);
  const end = flow(svg.querySelector('.legend'), y + LINE + 6, width, margin, 16);
  tools.screen.setAttribute('height', end + 8);
  return end;
}

function place(box, x, y, width, height) {
  for (const [name, value] of Object.entries({x, y, width, height})) box.setAttribute(name, value);
}
