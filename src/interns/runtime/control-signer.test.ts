import { describe, expect, it } from 'vitest';
import { createRequestCheck } from '../agent/verify-request.ts';
import { ControlSigner } from './control-signer.ts';

const path = '/.headgate/runs';
const request = (signer: ControlSigner, body = '{}') => ({
  method: 'POST',
  path,
  body: Buffer.from(body),
  signature: signer.sign('POST', path, body) as unknown,
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
    const signer = new ControlSigner();
    const isFromGateway = createRequestCheck(signer.publicKey);
    const first = request(signer);
    const unused = request(signer);
    expect(isFromGateway(first)).toBe(true);
    for (let count = 0; count < 1100; count++) expect(isFromGateway(request(signer))).toBe(true);
    expect([first, unused].map(isFromGateway)).toEqual([false, false]);
  });

  it.each([
    ['another body', { body: Buffer.from('{"approval_mode":"self-drive"}') }],
    ['another path', { path: '/.headgate/runs/1/cancel' }],
    ['another method', { method: 'GET' }],
    ['no signature', { signature: undefined }],
    ['a bearer token', { signature: 'Bearer x' }],
    ['a number that has no signature', { signature: `7.${'A'.repeat(86)}` }],
    ['the signature of another key', { signature: new ControlSigner().sign('POST', path, '{}') }],
  ])('is refused with %s', (_, changed) => {
    const signer = new ControlSigner();
    const isFromGateway = createRequestCheck(signer.publicKey);
    const given = request(signer);
    expect(isFromGateway({ ...given, ...changed })).toBe(false);
    expect(isFromGateway(given)).toBe(true);
  });
});
