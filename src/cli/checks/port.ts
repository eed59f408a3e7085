import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Config } from '../../config/schema.ts';
import { findGateway, listensAt } from '../find-gateway.ts';
import { readMessage } from '../terminal.ts';
import type { Finding } from './finding.ts';

/** Checks whether the port is free, or the gateway of this data folder listens there. */
export async function checkPort(
  { host, port }: Pick<Config['server'], 'host' | 'port'>,
  dataDir: string,
): Promise<Finding> {
  const subject = 'port';
  const place = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  if (port === 0) return { status: 'ok', subject, says: 'any free one' };
  const error = await tryListen(host, port);
  if (error === undefined) return { status: 'ok', subject, says: `${place} is free` };
  if (error.code !== 'EADDRINUSE') {
    return {
      status: 'fail',
      subject,
      says: `${place}: ${readMessage(error)}`,
      fix: 'Choose another --host or --port.',
    };
  }
  const gateway = await findGateway({ host, port });
  if (gateway && listensAt(dataDir, { host, port })) {
    return { status: 'ok', subject, says: `the gateway of this data folder responds at ${place}` };
  }
  const [program, more] = gateway
    ? [`another Headgate (${gateway.version})`, ' Or name the data folder of that gateway with --data.']
    : ['another program', ''];
  return {
    status: 'fail',
    subject,
    says: `${place} is in use by ${program}`,
    fix: `Stop it, or choose another port with --port or server.port.${more}`,
  };
}

async function tryListen(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  const server = createServer();
  try {
    const listening = once(server, 'listening');
    server.listen({ host, port, exclusive: true });
    await listening;
    return undefined;
  } catch (error) {
    return error as NodeJS.ErrnoException; // what listen() emits
  } finally {
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  }
}
