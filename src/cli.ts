#!/usr/bin/env node
const [major = 0] = process.versions.node.split('.').map(Number);

if (major < 24) {
  process.stderr.write(`headgate: needs Node 24 or newer, and this is ${process.version}. See https://nodejs.org\n`);
  process.exitCode = 1;
} else {
  // Loaded only now: an older Node could not even read it.
  const { runCli } = await import('./cli/program.ts');
  const { stdout, stderr, env } = process;
  process.exitCode = await runCli(process.argv.slice(2), { stdout, stderr, env, cwd: process.cwd() });
  // Connections that somebody keeps open must not keep a closed gateway alive.
  setTimeout(() => process.exit(), 1000).unref();
}

export {};
