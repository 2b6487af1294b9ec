// fitting cuts a label to a number of letters; '' if too little of it would be left.
function fitting(label, room) {
  if (room < 3) return '';
  let used = 0, cut = 0, at = 0;
  for (const letter of label) {
    used += letter.codePointAt(0) >= 0x1100 ? 2 : 1;
    at += letter.length;
    if (used < room) cut = at;
    if (used > room) return `${label.slice(0, cut)}…`;
  }
  return label;
}
