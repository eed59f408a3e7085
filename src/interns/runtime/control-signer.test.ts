import { describe, expect, it } from 'vitest';
import { createRequestCheck } from '../agent/verify-request.ts';
import { ControlSigner } from './control-signer.ts';

const path = '/.headgate/runs';
const request = (signer: ControlSigner, body = '{}') => ({
  method: 'POST',
  path,
  body: Buffer.from(body),
  signature: signer.sign('POST', path, body).value as unknown,
});

describe('a request to an agent', () => {
  it('is from the gateway if its signature says so, in any order', () => {
    const signer = new ControlSigner();
    const isFromGateway = createRequestCheck(signer.publicKey);
    const requests = Array.from({ length: 1000 }, (_, index) => request(signer, String(index)));
    expect(requests.toReversed().every(isFromGateway)).toBe(true);
    expect(requests.some(isFromGateway)).toBe(false);
  });

  it('is refused a second time, also after many others', () => {
    let nowMs = 5000;
    const now = (): number => nowMs;
    const signer = new ControlSigner(now);
    const isFromGateway = createRequestCheck(signer.publicKey, now);
    const first = request(signer);
    expect(isFromGateway(first)).toBe(true);
    for (let count = 0; count < 1100; count++) {
      nowMs += 20;
      expect(isFromGateway(request(signer))).toBe(true);
      expect(isFromGateway(first)).toBe(false);
    }
  });

  it('is refused if a command held it back', () => {
    let nowMs = 5000;
    const signer = new ControlSigner(() => nowMs);
    const isFromGateway = createRequestCheck(signer.publicKey, () => nowMs - 3000); // clocks start anywhere
    expect(isFromGateway(request(signer))).toBe(true);
    const [stolen, slow] = [request(signer), request(signer)];
    nowMs += 9900;
    expect(isFromGateway(slow)).toBe(true);
    nowMs += 200;
    expect(isFromGateway(stolen)).toBe(false);
    expect(isFromGateway(request(signer))).toBe(true);
  });

  it('is accepted for days if one clock is slower', () => {
    let nowMs = 0;
    const signer = new ControlSigner(() => nowMs * 0.99995);
    const isFromGateway = createRequestCheck(signer.publicKey, () => nowMs);
    for (; nowMs < 10 * 86_400_000; nowMs += 900_000) expect(isFromGateway(request(signer))).toBe(true);
  });

  it.each([
    ['another body', { body: Buffer.from('{"approval_mode":"self-drive"}') }],
    ['another path', { path: '/.headgate/runs/1/cancel' }],
    ['another method', { method: 'GET' }],
    ['no signature', { signature: undefined }],
    ['a bearer token', { signature: 'Bearer x' }],
    ['a number that has no signature', { signature: `7.${'A'.repeat(86)}` }],
    ['the signature of another key', { signature: new ControlSigner().sign('POST', path, '{}').value }],
  ])('is refused with %s', (_, changed) => {
    const signer = new ControlSigner();
    const isFromGateway = createRequestCheck(signer.publicKey);
    const given = request(signer);
    expect(isFromGateway({ ...given, ...changed })).toBe(false);
    expect(isFromGateway(given)).toBe(true);
  });
});
