// instant is a time in s, with the digits that slots of this length need.
function instant(ns, slot) {
  return (ns / 1e9).toFixed(Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(slot)))));
}
