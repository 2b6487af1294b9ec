// The work behind scripts/perfetto-shot, which says what it does.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import {Browser} from './browser.mjs';

const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.wasm': 'application/wasm'};
const LOAD_SECONDS = 180;
const [interfaceFolder, trace, out, ...scripts] = process.argv.slice(2);
const [width, height] = (process.env.SIZE ?? '1600x1000').split('x').map(Number);

// What scripts may use in the page. `app` is the interface's own object, of which traces hang.
const helpers = `
  const nap = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  window.key = async (name) => {
    for (const type of ['keydown', 'keyup']) document.body.dispatchEvent(new KeyboardEvent(type, {key: name, code: 'Key' + name.toUpperCase(), bubbles: true}));
    await nap(500);
  };
  window.rows = async (sql) => {
    const result = await app.trace.engine.query(sql);
    const all = [];
    for (const it = result.iter({}); it.valid(); it.next()) all.push(Object.fromEntries(result.columns().map((c) => [c, String(it.get(c))])));
    return all;
  };
  window.zoom = async (from, to) => {
    const {start} = app.trace.traceInfo;
    app.trace.timeline.panSpanIntoView?.(start + BigInt(from), start + BigInt(to));
    app.trace.timeline.setViewportTime?.(start + BigInt(from), start + BigInt(to));
    await nap(1500);
  };
  window.select = async (table, id) => {
    app.trace.selection.selectSqlEvent(table, Number(id), {switchToCurrentSelectionTab: true, scrollToSelection: true});
    await nap(2000);
  };
  window.thread = async (tid, state = 'R') => {
    const [row] = await rows("select s.id from thread_state s join thread using (utid) where tid = " + tid + " order by state = '" + state + "' desc, dur desc limit 1");
    await select('thread_state', row.id);
  };
  window.sidebar = async () => {
    document.querySelector('.pf-sidebar__toggle, [title*=idebar], .pf-sidebar button')?.click();
    await nap(500);
  };
  window.scrollUp = () => {
    for (const element of document.querySelectorAll('*')) if (element.scrollTop > 0) element.scrollTop = 0;
  };
  window.slice = async (cpu) => {
    const [row] = await rows('select id from sched where utid != 0 and cpu = ' + cpu + ' order by dur desc limit 1');
    await select('sched_slice', row.id);
  };
`;

const server = http.createServer((request, response) => {
  const name = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
  const file = name === '/trace.pb' ? trace : path.join(interfaceFolder, path.normalize(name === '/' ? '/index.html' : name));
  fs.readFile(file, (error, body) => {
    response.writeHead(error ? 404 : 200, {'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream'});
    response.end(body);
  });
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${server.address().port}`;

const browser = await Browser.start(width, height);
let status = 0;
try {
  await browser.page('Page.navigate', {url: `${origin}/#!/?url=${origin}/trace.pb`});
  if (!await loaded()) {
    console.error('perfetto-shot: the interface did not finish loading; the picture shows how far it came');
    status = 1;
  } else {
    await browser.run(helpers);
    for (const script of scripts) {
      console.log(JSON.stringify(await browser.run(`(async () => { ${/\breturn\b|;/.test(script) ? script : 'return ' + script} })()`)));
      await quiet();
    }
  }
  fs.writeFileSync(out, await browser.picture());
} catch (error) {
  console.error(`perfetto-shot: ${error.message}`);
  status = 1;
} finally {
  await browser.close();
  server.close();
}
process.exit(status);

// loaded waits until the viewer is shown and nothing more is on its way.
async function loaded() {
  for (let second = 0, calm = 0; second < LOAD_SECONDS; second++) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const busy = await browser.run(`(() => {
      const status = document.querySelector('.pf-omnibox input, .omnibox input')?.placeholder ?? '';
      const text = document.body.innerText + status;
      return !location.hash.startsWith('#!/viewer') || /(Loading|Opening) trace|Running (query|plugin)/.test(text);
    })()`);
    calm = busy ? 0 : calm + 1;
    if (calm === 3) return true;
  }
  return false;
}

async function quiet() {
  await new Promise((resolve) => setTimeout(resolve, 1000));
  for (let tries = 0; tries < 30; tries++) {
    if (!await browser.run(`/Loading/.test(document.body.innerText)`)) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
