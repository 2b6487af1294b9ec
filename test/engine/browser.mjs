// A headless Chromium with one page, driven over the pipe of its debugging protocol.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {spawn} from 'node:child_process';

export class Browser {
  // onEvent gets the page's events: name and parameters.
  onEvent = () => {};
  #answers = new Map();
  #sent = 0;

  static async start(width, height, ...flags) {
    const browser = new Browser();
    browser.profile = fs.mkdtempSync(path.join(os.tmpdir(), 'wprof-chromium-'));
    browser.child = spawn('chromium', [
      '--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--remote-debugging-pipe',
      `--window-size=${width},${height}`, `--user-data-dir=${browser.profile}`, ...flags, 'about:blank',
    ], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    browser.#listen(browser.child.stdio[4]);
    await browser.renew(width, height);
    return browser;
  }

  // renew opens a page that shares nothing with the one before, in a window of its own, and closes that one.
  async renew(width, height) {
    const before = this.context;
    this.context = (await this.#call('Target.createBrowserContext')).browserContextId;
    const {targetId} = await this.#call('Target.createTarget', {url: 'about:blank', browserContextId: this.context, newWindow: true, width, height});
    const {sessionId} = await this.#call('Target.attachToTarget', {targetId, flatten: true});
    this.session = sessionId;
    if (before) await this.#call('Target.disposeBrowserContext', {browserContextId: before});
    await this.page('Page.enable');
    await this.page('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});
  }

  // page sends a command to the page.
  page(method, params = {}) {
    return this.#call(method, params, this.session);
  }

  // run evaluates an expression in the page and returns its value.
  async run(expression) {
    const {result, exceptionDetails} = await this.page('Runtime.evaluate', {expression, returnByValue: true, awaitPromise: true});
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async picture() {
    const {data} = await this.page('Page.captureScreenshot', {format: 'png'});
    return Buffer.from(data, 'base64');
  }

  async close() {
    const gone = new Promise((resolve) => this.child.once('exit', resolve));
    this.#call('Browser.close').catch(() => {});
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 5000);
    await gone;
    clearTimeout(timer);
    fs.rmSync(this.profile, {recursive: true, force: true, maxRetries: 10, retryDelay: 100});
  }

  #call(method, params = {}, sessionId) {
    const id = ++this.#sent;
    this.child.stdio[3].write(`${JSON.stringify({id, method, params, sessionId})}\0`);
    return new Promise((resolve, reject) => this.#answers.set(id, {resolve, reject}));
  }

  #listen(stream) {
    let buffered = '';
    stream.setEncoding('utf8').on('data', (text) => {
      const messages = (buffered + text).split('\0');
      buffered = messages.pop();
      for (const {id, method, params, result, error, sessionId} of messages.map((message) => JSON.parse(message))) {
        if (method) {
          if (sessionId === this.session) this.onEvent(method, params);
          continue;
        }
        const waiting = this.#answers.get(id);
        this.#answers.delete(id);
        if (error) waiting?.reject(new Error(error.message));
        else waiting?.resolve(result);
      }
    });
    stream.on('close', () => {
      for (const {reject} of this.#answers.values()) reject(new Error('chromium has ended'));
    });
  }
}
