import { testGateway } from '../../src/testing/test-gateway.ts';

/** A process that `ledger-kill.test.ts` kills: a gateway on the data folder of its first argument; it says its URL. */
const config = JSON.parse(process.argv[3]!) as Record<string, unknown>;
const gateway = await testGateway(config, process.argv[2]!);
process.stdout.write(`${gateway.url}\n`);
