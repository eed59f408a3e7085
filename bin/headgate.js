#!/usr/bin/env node
// Starts Headgate, or says in one line what is missing. Keep the syntax to what Node 18 can read: newer syntax belongs in
// bin/run.js, and TypeScript in src/.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = new URL('../', import.meta.url);
const isCheckout = existsSync(new URL('src/cli.ts', root));
const program = new URL('run.js', import.meta.url);

const { engines } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
const minimum = Number(/\d+/.exec(engines.node)[0]);
const isSupported = Number.parseInt(process.versions.node, 10) >= minimum;

/** The Node that the dev dependency `node` installs with its install script. */
const bundledNode = new URL('node_modules/node/bin/node', root);

if (isCheckout && !existsSync(new URL('node_modules', root))) {
  fail('The dependencies are not installed. Run: npm ci');
} else if (isSupported) {
  await import(program.href);
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

/** Runs the program on another Node and ends as it ends. Signals that would end this process go to the other one. */
function runOn(node) {
  const child = spawn(node, [...process.execArgv, fileURLToPath(program), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(`${node} cannot be run (${error.message}). Run: npm rebuild node`));
  child.on('exit', (code, signal) => process.exit(code === null ? 128 + constants.signals[signal] : code));
}
