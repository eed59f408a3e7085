import { request } from 'node:http';
import { expect, it } from 'vitest';
import { watchTraffic } from './loopback.ts';

// An address of this machine too, so that nothing leaves it, but not the one of the tests. Nobody listens there.
const elsewhere = '127.0.0.2:65530';

it('notes every request to another place, sent with fetch or with node:http', async () => {
  const traffic = watchTraffic();

  await fetch(`http://${elsewhere}/a`).catch(() => {});
  await new Promise((resolve) => request(`http://${elsewhere}/b`).on('error', resolve).end());
  await fetch('http://127.0.0.1:65530/').catch(() => {});
  traffic.stop();

  expect(traffic.strangers).toEqual(['127.0.0.2', '127.0.0.2']);
});
