#!/usr/bin/env node
const [major = 0] = process.versions.node.split('.').map(Number);

if (major < 24) {
  process.stderr.write(`headgate: needs Node 24 or newer, and this is ${process.version}. See https://nodejs.org\n`);
  process.exitCode = 1;
} else {
  // Loaded only now: an older Node could not even read it.
  const { runCli } = await import('./cli/program.ts');
  const { stdout, stderr, env } = process;
  for (const output of [stdout, stderr]) output.on('error', forgiveLostReader);
  process.exitCode = await runCli(process.argv.slice(2), { stdout, stderr, env, cwd: process.cwd() });
  // Connections that somebody keeps open must not keep a closed gateway alive.
  setTimeout(() => process.exit(), 1000).unref();
}

/** `headgate doctor | head -3`: the reader has what it wanted. What a command does it does to its end, told or not. */
function forgiveLostReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

export {};
