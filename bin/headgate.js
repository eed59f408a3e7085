#!/usr/bin/env node
// Starts Headgate, or says in one line what is missing. Keep the syntax to what Node 18 can read.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = new URL('../', import.meta.url);
const source = new URL('src/cli.ts', root);
const isCheckout = existsSync(source);

const { engines } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
const minimum = Number(/\d+/.exec(engines.node)[0]);
const isSupported = Number.parseInt(process.versions.node, 10) >= minimum;

/** The Node that the dev dependency `node` installs with its install script. */
const bundledNode = new URL('node_modules/node/bin/node', root);

/** Set in the process that `runOn` starts, which must not start another one. */
const launched = 'HEADGATE_LAUNCHED';
const isLaunched = process.env[launched] !== undefined;
delete process.env[launched];

if (isCheckout && !existsSync(new URL('node_modules', root))) {
  fail('The dependencies are not installed. Run: npm ci');
} else if (isSupported || isLaunched) {
  await run();
} else if (isCheckout && existsSync(bundledNode)) {
  runOn(fileURLToPath(bundledNode));
} else {
  const more = isCheckout ? ', or run "npm rebuild node" to download it into node_modules' : '';
  fail(
    `Node ${minimum} or newer is required, and this is ${process.version}. Install it from https://nodejs.org${more}.`,
  );
}

function fail(message) {
  process.stderr.write(`headgate: ${message}\n`);
  process.exitCode = 1;
}

/** Runs the sources of a clone, or the compiled package. */
async function run() {
  try {
    await import(isCheckout ? source.href : new URL('dist/cli.js', root).href);
  } catch (error) {
    if (!isCheckout || error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const [name = 'a package'] = /'[^']+'/.exec(error.message) ?? [];
    fail(`The dependencies are incomplete: ${name} is not installed. Run: npm ci`);
  }
}

/** Runs the program on another Node and ends as it ends. Signals that would end this process go to the other one. */
function runOn(node) {
  const child = spawn(node, [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, [launched]: '1' },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(`${node} cannot be run (${error.message}). Run: npm rebuild node`));
  child.on('exit', (code, signal) => process.exit(code === null ? 128 + constants.signals[signal] : code));
}
