// Perfetto's trace processor as the interface ships it: a script meant for a web worker, and its WebAssembly module.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import {message, Reader} from './wire.mjs';

const CHUNK_BYTES = 8 << 20;
// Numbers in the engine's protocol (protos/perfetto/trace_processor/trace_processor.proto).
const APPEND = {method: 1, argument: 101, error: 2};
const FINALIZE = {method: 2, error: 1};
const QUERY = {method: 3, argument: 103};
const RESET = {method: 11};
const FATAL_ERROR = 5;
const FIRST_RESULT = 101; // fields of a reply from here on are its result

export class Processor {
  #port;
  #inbox = [];
  #sequence = 0;

  // start runs the worker script of an engine folder and waits until it takes requests.
  static async start(folder) {
    const processor = new Processor();
    processor.#port = {postMessage: (bytes) => processor.#inbox.push(Buffer.from(bytes))};
    const {scope, instantiated} = workerScope(folder);
    const script = fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8');
    vm.runInContext(script, vm.createContext(scope), {filename: 'engine_bundle.js'});
    scope.onmessage({data: processor.#port});
    await instantiated;
    return processor;
  }

  load(file) {
    const input = fs.openSync(file, 'r');
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    try {
      for (;;) {
        const length = fs.readSync(input, chunk, 0, CHUNK_BYTES, null);
        if (length === 0) break;
        refuse(this.#request(APPEND, chunk.subarray(0, length)), APPEND.error);
      }
    } finally {
      fs.closeSync(input);
    }
    refuse(this.#request(FINALIZE), FINALIZE.error);
  }

  // reset forgets the trace.
  reset() {
    this.#request(RESET);
  }

  // query yields the rows of an SQL text as [column, value] lists; integers are BigInt.
  *query(sql) {
    const columns = [];
    let row = [];
    for (const result of this.#request(QUERY, message([1, Buffer.from(sql)]))) {
      for (const [number, value] of new Reader(result)) {
        if (number === 1) columns.push(value.toString());
        if (number === 2 && value.length > 0) throw new Error(`${value.toString().trim()}\nin: ${sql}`);
        if (number !== 3) continue;
        for (const cell of cells(value)) {
          row.push([columns[row.length], cell]);
          if (row.length === columns.length) {
            yield row;
            row = [];
          }
        }
      }
    }
  }

  #request({method, argument}, body) {
    const request = message([1, ++this.#sequence], [2, method], [argument, body]);
    this.#port.onmessage({data: new Uint8Array(message([1, request]))});
    const results = [];
    for (const [, reply] of new Reader(Buffer.concat(this.#inbox.splice(0)))) {
      for (const [number, value] of new Reader(reply)) {
        if (number === FATAL_ERROR) throw new Error(`the engine gave up: ${value}`);
        if (number >= FIRST_RESULT) results.push(value);
      }
    }
    return results;
  }
}

function refuse(results, errorField) {
  for (const result of results) {
    for (const [number, value] of new Reader(result)) {
      if (number === errorField && value.length > 0) throw new Error(value.toString());
    }
  }
}

// cells are the values of a batch: their types in one column, and one column of values for each type.
function* cells(batch) {
  let types = [];
  const columns = {};
  const blobs = [];
  for (const [number, value] of new Reader(batch)) {
    if (number === 1) types = value;
    else if (number === 4) blobs.push(value);
    else columns[number] = value;
  }
  const varints = new Reader(columns[2] ?? Buffer.alloc(0));
  const doubles = new Reader(columns[3] ?? Buffer.alloc(0));
  const strings = (columns[5] ?? Buffer.alloc(0)).toString().split('\0');
  let text = 0;
  for (const type of types) {
    switch (type) {
      case 1: yield null; break;
      case 2: yield BigInt.asIntN(64, varints.varint()); break;
      case 3: yield doubles.double(); break;
      case 4: yield strings[text++]; break;
      case 5: yield blobs.shift().toString('hex'); break;
      default: throw new Error(`the engine sent a cell of unknown type ${type}`);
    }
  }
}

// workerScope is what the script takes for a web worker's global object. The module is compiled in the background;
// a request that comes before it is instantiated would break the worker for good.
function workerScope(folder) {
  const read = (url) => fs.readFileSync(path.join(folder, path.basename(new URL(url, 'http://engine/').pathname)));
  let resolveInstantiated;
  const instantiated = new Promise((resolve) => { resolveInstantiated = resolve; });
  class Instance extends WebAssembly.Instance {
    constructor(module, imports) {
      super(module, imports);
      if ('trace_processor_rpc_init' in this.exports) setTimeout(resolveInstantiated, 10); // the script's own callback runs first
    }
  }
  const silent = () => {};
  const scope = {
    WebAssembly: Object.create(WebAssembly, {Instance: {value: Instance}}),
    console: {log: silent, info: silent, warn: silent, debug: silent, error: silent},
    fetch: async (url) => new Response(read(url), {headers: {'content-type': 'application/wasm'}}),
    XMLHttpRequest: class {
      open(method, url) { this.url = url; }
      send() { this.response = read(this.url).buffer; }
    },
    location: new URL('http://engine/engine_bundle.js'),
    addEventListener: silent, removeEventListener: silent,
    WorkerGlobalScope: class {}, ErrorEvent: class {}, PromiseRejectionEvent: class {},
    URL, Response, TextDecoder, TextEncoder, performance, setTimeout, clearTimeout, crypto,
  };
  // The script checks replies and errors against the types of its own world.
  for (const type of [Uint8Array, ArrayBuffer, BigInt, Date, Promise, Error, TypeError, RangeError]) {
    scope[type.name] = type;
  }
  scope.self = scope;
  return {scope, instantiated};
}
