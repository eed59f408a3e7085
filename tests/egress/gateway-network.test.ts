import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

interface ShellItem {
  status: string;
  error?: string;
  output?: { stdout: string; stderr: string }[];
}

/** An address of this machine that the operator opens. Port 80 needs the rights of root. */
const address = `127.77.${randomInt(256)}.${randomInt(1, 255)}`;
const host = createServer((request, response) => response.end(`${request.headers.host} ${request.url}`));
const listens = await new Promise<boolean>((resolve) => {
  host.once('error', () => resolve(false));
  host.listen(80, address, () => resolve(true));
});

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ tools: { sandbox: { driver: 'bubblewrap' } }, outbound: { allow: [address] } });
});
afterAll(async () => {
  await gateway.close();
  host.closeAllConnections();
  host.close();
  if (listens) await once(host, 'close');
});

/** Lets a model run a command. */
async function run(command: string, allowedDomains: readonly string[] | undefined, on = gateway): Promise<ShellItem> {
  const call = `[[call router:shell ${JSON.stringify({ commands: [command] })}]] [[then]] [[say Done.]]`;
  const policy = { type: 'allowlist', allowed_domains: allowedDomains };
  const environment = { type: 'container_auto', ...(allowedDomains && { network_policy: policy }) };
  const response = await on.post('/responses', {
    model: 'simulator/echo',
    input: call,
    tools: [{ type: 'router:shell', parameters: { environment } }],
  });
  const body = (await response.json()) as { output?: ShellItem[]; error?: { message: string } };
  if (!body.output) throw new Error(body.error?.message);
  return body.output[0]!;
}

const problem = await (async () => {
  const probe = await testGateway({ tools: { sandbox: { driver: 'bubblewrap' } } });
  const { error } = await run('true', undefined, probe);
  await probe.close();
  return error;
})();

describe.skipIf(problem !== undefined)(`commands of a model${problem ? `: cannot run here: ${problem}` : ''}`, () => {
  it('reach no host that their policy does not name, and read why', async () => {
    const { status, output } = await run('curl -sS http://other.example.org/', ['files.example.org']);
    expect(status).toBe('completed');
    expect(output![0]!.stdout).toBe('other.example.org is not among the allowed_domains of this container.\n');
  });

  it('reach no private address with every host allowed', async () => {
    const { output } = await run('curl -sS http://127.88.1.1/; curl -sS http://169.254.169.254/', ['*']);
    expect(output![0]!.stdout).toBe(
      '127.88.1.1 was not found, or its address is not public.\n169.254.169.254 was not found, or its address is not public.\n',
    );
  });

  it('have no proxy without a policy', async () => {
    const { output } = await run('env | grep -i proxy; curl -sS http://files.example.org/', undefined);
    expect(output![0]).toMatchObject({ stdout: '', stderr: expect.stringContaining('Could not resolve host') });
  });

  it.skipIf(!listens)('reach a host that the operator has opened, and the metrics count it', async () => {
    const { output } = await run(`curl -sS http://${address}/path; curl -s http://127.88.1.1/`, ['*']);
    expect(output![0]!.stdout).toMatch(`${address} /path127.88.1.1 was not found`);
    const read = async (sample: string): Promise<string | undefined> => {
      const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
      return metrics.split('\n').find((line) => line.startsWith(`headgate_sandbox_egress_${sample} `));
    };
    await expect.poll(() => read('requests_total{outcome="served"}')).toMatch(/ [1-9]\d*$/);
    await expect.poll(() => read('requests_total{outcome="refused"}')).toMatch(/ [1-9]\d*$/);
    await expect.poll(() => read('bytes_total{direction="received"}')).toMatch(/ [1-9]\d*$/);
  });
});
