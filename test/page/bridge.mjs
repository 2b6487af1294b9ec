// Passes commands of the debugging protocol from standard input to a page, one JSON object a line, and answers and events
// back. The command "renew" replaces the page by a new one. Ends when standard input does, and with it the browser and the
// folder for its files.
import fs from 'node:fs';
import readline from 'node:readline';
import {Browser} from '../engine/browser.mjs';

const [folder, width, height, ...flags] = process.argv.slice(2);
process.env.TMPDIR = folder;
process.stdout.on('error', () => {}); // the tests are over
const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

const browser = await Browser.start(+width, +height, ...flags);
browser.onEvent = (method, params) => send({method, params});
for await (const line of readline.createInterface({input: process.stdin})) {
  const {id, method, params} = JSON.parse(line);
  (method === 'renew' ? browser.renew(+width, +height) : browser.page(method, params)).then(
    (result) => send({id, result}),
    (error) => send({id, error: error.message}),
  );
}
await browser.close();
fs.rmSync(folder, {recursive: true, force: true});
process.exit();
