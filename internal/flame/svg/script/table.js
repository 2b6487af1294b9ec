// The frames of the picture in columns. All frames above a frame follow it, up to its `end`.

function decode(table) {
  const records = table.frames.split(';').slice(0, -1);
  const count = records.length;
  const ints = () => new Int32Array(count), sums = () => new Float64Array(count);
  const t = {
    ...table, count, depth: ints(), parent: ints(), end: ints(), symbol: ints(), kind: new Uint8Array(count), rows: 0,
    on: sums(), off: sums(), unknown: sums(), times: sums(), before: sums(), timesBefore: sums(), waits: sums(), waitsBefore: sums(),
    now: sums(), larger: sums(), self: sums(), selfBefore: sums(),
  };
  const columns = [t.symbol, t.kind, t.on, t.off, t.unknown, t.times, t.before, t.timesBefore, t.waits, t.waitsBefore];
  const path = [];
  records.forEach((record, i) => {
    const [up, ...values] = fields(record);
    const depth = i ? t.depth[i - 1] + 1 - up : 0;
    path[depth] = i;
    t.depth[i] = depth;
    t.parent[i] = depth ? path[depth - 1] : -1;
    t.rows = Math.max(t.rows, depth + 1);
    values.forEach((value, field) => { columns[field][i] = value; });
    t.self[i] = t.on[i] + t.off[i] + t.unknown[i];
    t.selfBefore[i] = t.before[i];
  });
  for (let i = count - 1; i >= 0; i--) sumUp(t, i);
  return t;
}

function fields(record) {
  const all = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  record.split(',').forEach((field, i) => { if (field) all[i] = parseInt(field, 36); });
  return all;
}

// sumUp completes the sums of a frame, once those above it are complete, and adds them to the frame below.
function sumUp(t, i) {
  t.now[i] = t.on[i] + t.off[i] + t.unknown[i];
  t.larger[i] += Math.max(t.self[i], t.selfBefore[i]);
  t.end[i] = Math.max(t.end[i], i + 1);
  const parent = t.parent[i];
  if (parent < 0) return;
  for (const sum of [t.on, t.off, t.unknown, t.times, t.before, t.timesBefore, t.waits, t.waitsBefore, t.larger]) sum[parent] += sum[i];
  t.end[parent] = Math.max(t.end[parent], t.end[i]);
}

function nameOf(t, i) {
  if (i === 0) return 'all';
  if (t.kind[i] === KIND.small) return `(${counted(t.symbol[i], 'small frame')})`;
  return t.names[t.symbol[i]];
}

const fileOf = (t, i) => i && t.kind[i] !== KIND.small && t.files[t.symbol[i]] ? t.modules[t.files[t.symbol[i]] - 1] : '';
