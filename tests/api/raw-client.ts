import { connect, type Socket } from 'node:net';
import { type TestGateway, testKeys } from '../../src/testing/index.ts';

/** A raw connection to a gateway, for requests that no HTTP client would send. */
export interface RawClient {
  readonly socket: Socket;
  /** Everything received. */
  text: string;
  /** Sends the head of a `POST /responses` with the test key, unless `authorization` says otherwise. */
  sendHead(headers: Record<string, string | number>): void;
}

export function openRaw(gateway: TestGateway): RawClient {
  const { port, hostname } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  const client: RawClient = {
    socket,
    text: '',
    sendHead(headers) {
      const all = {
        host: 'x',
        authorization: `Bearer ${testKeys.key}`,
        'content-type': 'application/json',
        ...headers,
      };
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`POST /api/v1/responses HTTP/1.1\r\n${lines.join('')}\r\n`);
    },
  };
  socket
    .setEncoding('latin1')
    .on('data', (text) => {
      client.text += text;
    })
    .on('error', () => {}); // a reset is seen as the end
  return client;
}
