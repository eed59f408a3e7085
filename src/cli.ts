import './platform/keep-ticks.ts'; // first, because every collection at the start counts
import { openProcessOutputs } from './cli/process-outputs.ts';
import { runCli } from './cli/program.ts';

const { stdout, stderr, closed, hasFailed } = openProcessOutputs(process);
const exitSoon = () => void setTimeout(() => process.exit(), 1000).unref();
const exitCode = await runCli(process.argv.slice(2), {
  stdout,
  stderr,
  env: process.env,
  cwd: process.cwd(),
  closed,
  openInput: () => process.stdin,
  onGatewayClosed: exitSoon, // a log collector that reads nothing must not delay the end of a gateway
});
process.exitCode = exitCode;
await Promise.all([stdout.drain?.(), stderr.drain?.()]); // a reader may be slow, or a person in a pager
if (hasFailed()) process.exitCode ||= 1;
exitSoon(); // open connections must not keep the process alive
