#!/usr/bin/env node
// SQL on a trace with Perfetto's own trace processor.
//
//   node query.mjs [--engine DIR] [--measure] TRACE SQL...
//   node query.mjs [--engine DIR] --serve
//
// Prints a line for each row: a list of the query's number, from 0, and the row as an object. Integers are printed
// whole, also those beyond 2^53; floating point numbers always have a point or an exponent. --measure prints load time
// and memory on standard error. --serve reads requests from standard input, a line of JSON each: {"trace": FILE,
// "sql": [...]}, and ends each answer with a line "done" or "failed: " and why; starting an engine costs a second. A trace
// stays loaded until a request for another one.
// DIR, else $PERFETTO_UI, else build/engine, is where scripts/fetch-engine put it.
// Exit status: 0 done, 1 the engine refused the trace or a query, 2 wrong usage.
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import {fileURLToPath} from 'node:url';
import {Processor} from './processor.mjs';

function usage() {
  console.error('usage: node query.mjs [--engine DIR] [--measure] TRACE SQL... | --serve');
  process.exit(2);
}

// engineFolder finds the folder of the version: the given one or a single one below it.
function engineFolder(given) {
  const root = path.dirname(fileURLToPath(import.meta.url)) + '/../../build/engine';
  const folder = given ?? process.env.PERFETTO_UI ?? root;
  const candidates = [folder, ...(fs.existsSync(folder) ? fs.readdirSync(folder).map((name) => path.join(folder, name)) : [])];
  const found = candidates.find((name) => fs.existsSync(path.join(name, 'engine_bundle.js')));
  if (!found) throw new Error(`no engine in ${folder}; run scripts/fetch-engine`);
  return found;
}

function json(value) {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'number') return JSON.stringify(value);
  if (!Number.isFinite(value)) return JSON.stringify(String(value));
  const text = String(value);
  return /[.e]/.test(text) ? text : text + '.0';
}

function print(text) {
  for (let at = 0; at < text.length;) at += fs.writeSync(1, text, at);
}

function answer(processor, queries) {
  queries.forEach((sql, index) => {
    const lines = [];
    for (const row of processor.query(sql)) {
      lines.push(`[${index},{${row.map(([column, value]) => `${JSON.stringify(column)}:${json(value)}`).join(',')}}]\n`);
    }
    print(Buffer.from(lines.join('')));
  });
}

// version changes with a file's content.
function version(file) {
  const {dev, ino, size, mtimeNs, ctimeNs} = fs.statSync(file, {bigint: true});
  return [dev, ino, size, mtimeNs, ctimeNs].join();
}

async function serve(processor) {
  let loaded = null; // loading takes far longer than a query
  for await (const line of readline.createInterface({input: process.stdin})) {
    try {
      const {trace, sql} = JSON.parse(line);
      const wanted = version(trace);
      if (loaded !== wanted) {
        loaded = null;
        processor.reset();
        processor.load(trace);
        loaded = wanted;
      }
      answer(processor, sql);
      print(Buffer.from('done\n'));
    } catch (error) {
      print(Buffer.from(`failed: ${error.message.replaceAll('\n', ' ')}\n`));
    }
  }
}

const rest = process.argv.slice(2);
let engine, measure = false, serving = false;
while (rest[0]?.startsWith('--')) {
  const flag = rest.shift();
  if (flag === '--engine') engine = rest.shift();
  else if (flag === '--measure') measure = true;
  else if (flag === '--serve') serving = true;
  else usage();
}
const [trace, ...queries] = rest;
if (!trace !== serving) usage();
try {
  const processor = await Processor.start(engineFolder(engine));
  if (serving) {
    await serve(processor);
    process.exit(0);
  }
  const begun = performance.now();
  processor.load(trace);
  if (measure) {
    const seconds = (performance.now() - begun) / 1000;
    console.error(`loaded in ${seconds.toFixed(2)} s, ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB resident`);
  }
  answer(processor, queries);
  process.exit(0);
} catch (error) {
  console.error(`query: ${error.message}`);
  process.exit(1);
}
