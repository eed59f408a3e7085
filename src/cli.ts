import './platform/keep-ticks.ts'; // first, because every collection at the start counts
import { openProcessOutputs } from './cli/process-outputs.ts';
import { version, versionFlags } from './cli/version.ts';

const { stdout, stderr, closed, hasFailed } = openProcessOutputs(process);
const exitSoon = () => void setTimeout(() => process.exit(), 1000).unref();
const argv = process.argv.slice(2);
if (argv.length === 1 && versionFlags.includes(argv[0]!)) stdout.write(`${version}\n`);
else {
  const { runCli } = await import('./cli/program.ts'); // to load the commands takes longer than to print the version
  process.exitCode = await runCli(argv, {
    stdout,
    stderr,
    env: process.env,
    cwd: process.cwd(),
    closed,
    openInput: () => process.stdin,
    onGatewayClosed: exitSoon, // a log collector that reads nothing must not delay the end of a gateway
  });
}
await Promise.all([stdout.drain?.(), stderr.drain?.()]); // a reader may be slow, or a person in a pager
if (hasFailed()) process.exitCode ||= 1;
exitSoon(); // open connections must not keep the process alive
