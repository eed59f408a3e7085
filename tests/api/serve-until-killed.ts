import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { testGateway } from '../../src/testing/test-gateway.ts';

/**
 * A process that `ledger-kill.test.ts` kills: a gateway on the data folder of its first argument. It has everything
 * loaded when it writes `ready`, begins on request, and prints its URL.
 */
const [dataDir, config] = process.argv.slice(2) as [string, string];
flushCompileCache(); // a killed process cannot do it at its end
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const gateway = await testGateway(JSON.parse(config) as Record<string, unknown>, dataDir);
process.stdout.write(`${gateway.url}\n`);
