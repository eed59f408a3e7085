import { request } from 'node:http';
import { expect, it } from 'vitest';
import { watchTraffic } from './loopback.ts';

// Another address of this machine, so that nothing leaves it. No server listens there.
const elsewhere = '127.0.0.2:65530';

it('records every request to another address, sent with fetch or node:http', async () => {
  const traffic = watchTraffic();

  await fetch(`http://${elsewhere}/a`).catch(() => {});
  await new Promise((resolve) => request(`http://${elsewhere}/b`).on('error', resolve).end());
  await fetch('http://127.0.0.1:65530/').catch(() => {});
  traffic.stop();

  expect(traffic.strangers).toEqual(['127.0.0.2', '127.0.0.2']);
});
