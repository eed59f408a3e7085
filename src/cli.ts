import './platform/keep-ticks.ts'; // first, because every collection at the start counts
import { runCli } from './cli/program.ts';

const { stdout, stderr, env } = process;
const reader = new AbortController();
for (const output of [stdout, stderr]) output.on('error', ignoreClosedPipe);
process.exitCode = await runCli(process.argv.slice(2), {
  stdout,
  stderr,
  env,
  cwd: process.cwd(),
  closed: reader.signal,
  openInput: () => process.stdin,
});
// open connections must not keep a closed gateway alive
setTimeout(() => process.exit(), 1000).unref();

/** `headgate doctor | head -3` closes the pipe early. The command still completes, unless it runs forever. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  reader.abort();
}
