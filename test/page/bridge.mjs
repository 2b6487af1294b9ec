// Passes commands of the debugging protocol from standard input to a page, one JSON object a line, and answers and events
// back. Ends, and the browser with it, when standard input does.
import readline from 'node:readline';
import {Browser} from '../engine/browser.mjs';

const [width, height] = process.argv.slice(2).map(Number);
const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

const browser = await Browser.start(width, height);
browser.onEvent = (method, params) => send({method, params});
for await (const line of readline.createInterface({input: process.stdin})) {
  const {id, method, params} = JSON.parse(line);
  browser.page(method, params).then(
    (result) => send({id, result}),
    (error) => send({id, error: error.message}),
  );
}
await browser.close();
process.exit();
