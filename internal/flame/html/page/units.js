// instant is a point in time in s, as precise as slots of this length need.
function instant(ns, slot) {
  return (ns / 1e9).toFixed(Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(slot)))));
}
