// fitting shortens a label to a number of letters; '' if too little of it would be left.
function fitting(label, isFunction, room) {
  return room < 3 ? '' : fitted(label, isFunction, (text) => letters(text) <= room, (text, place) => cutTo(text, room - letters(place)));
}

// cutTo cuts a label at its end.
function cutTo(label, room) {
  let used = 0, cut = 0, at = 0;
  for (const letter of label) {
    used += lettersOf(letter);
    at += letter.length;
    if (used < room) cut = at;
    if (used > room) return `${label.slice(0, cut)}…`;
  }
  return label;
}

const lettersOf = (letter) => letter.codePointAt(0) >= 0x1100 ? 2 : 1;

function letters(label) {
  let n = 0;
  for (const letter of label) n += lettersOf(letter);
  return n;
}
