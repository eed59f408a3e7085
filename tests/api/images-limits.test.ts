import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { draw, type ImageOutcome, paint } from './images-lab.ts';
import { caseOf, failureOf, type ImageLab, imageCases, openImageLab, imagesOf } from './images-wires.ts';
import { newSession, rowsOf } from './ledger-rows.ts';
import { type Json, main, manage } from './manage.ts';

/*
 * The limits of a key on models, spending and rates apply to images as to text, before anything is sent.
 */

let lab: ImageLab;
const ask = manage(() => lab.gateway);
let made: Buffer;
beforeAll(async () => {
  lab = await openImageLab();
  made = await paint({ width: 64, height: 64 });
});
afterAll(() => lab.close());

async function createKey(body: object = {}): Promise<{ key: string; hash: string }> {
  const answer = await ask('POST', '/keys', { name: 'k', workspace_id: main, ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return { key: answer.body.key, hash: answer.body.data.hash };
}

/** Creates a key under a guardrail with these rules. */
async function guard(rules: object): Promise<string> {
  const { key, hash } = await createKey();
  const { body } = await ask('POST', '/guardrails', { name: 'Interns', workspace_id: main, ...rules });
  await ask('POST', `/guardrails/${body.data.id}/assignments/keys`, { key_hashes: [hash] });
  return key;
}

describe.each(imageCases)('POST /images of $wire, $mode', ({ wire, mode }) => {
  const { makes } = caseOf(wire);
  const stream = mode === 'streamed';
  const drawWith = (key: string, body: object = {}): Promise<ImageOutcome> => {
    const headers = { 'x-router-metadata': 'enabled' };
    return draw(lab.gateway, { model: `${wire}/one`, ...(stream && { stream }), ...body }, { key, headers });
  };

  it.each([
    [{ allowed_models: ['nobody/*'] }, 'does not allow'],
    [{ ignored_models: [`${wire.toUpperCase()}/*`] }, 'forbids'],
  ])('rejects a model under %j with 403, without a call to a provider', async (rules, says) => {
    const before = lab.upstream.requests.length;
    const { status, body } = await drawWith(await guard(rules));
    expect(status).toBe(403);
    expect(body.error).toMatchObject({ code: 403, metadata: { error_type: 'permission_denied' } });
    expect(body.error!.message).toContain(`that the guardrail Interns ${says}`);
    expect(lab.upstream.requests).toHaveLength(before);
  });

  it.each([
    [{ allowed_providers: ['somebody'] }, 'constraint_filtered'],
    [{ ignored_providers: [wire] }, 'constraint_filtered'],
    [{ enforce_zdr: true }, 'privacy_restricted'],
  ])('has no endpoint under %j: 404', async (rules, code) => {
    const before = lab.upstream.requests.length;
    const { status, body } = await drawWith(await guard(rules));
    expect(status).toBe(404);
    expect(body.error!.availability).toMatchObject({ code });
    expect(lab.upstream.requests).toHaveLength(before);
  });

  it('goes to the allowed endpoint, against the preference of the request', async () => {
    const key = await guard({ ignored_providers: [wire] });
    lab.other.always(caseOf('openai-images').makes([made]));
    const before = lab.upstream.requests.length;
    const outcome = await drawWith(key, { model: `${wire}/two`, provider: { order: [wire] } });
    expect(imagesOf(outcome)).toHaveLength(1);
    expect(lab.upstream.requests).toHaveLength(before);
    expect(failureOf(await drawWith(key, { model: `${wire}/two`, provider: { only: [wire] } })).status).toBe(404);
  });

  it('is a 402 beyond the limit of the key, and is not recorded as spent', async () => {
    const { key } = await createKey({ limit: 0.05 }); // an image costs 0.1
    const before = lab.upstream.requests.length;
    const session_id = newSession();
    const outcome = await drawWith(key, { session_id });
    expect(outcome.status).toBe(402);
    expect(outcome.body.error!.metadata).toMatchObject({ error_type: 'payment_required' });
    expect(outcome.body.error!.message).toContain('this request may cost up to 0.1 USD (1 image).');
    expect(lab.upstream.requests).toHaveLength(before);
    expect(await rowsOf(lab.gateway.dataDir, session_id)).toMatchObject([{ status: 402, cost_nano_usd: 0 }]);
  });

  it('counts generated images toward the limit of the key, and no failures', async () => {
    const { key, hash } = await createKey({ limit: 0.25 });
    lab.upstream.always(makes([Buffer.from('no picture')]));
    for (let turn = 0; turn < 3; turn++) expect((await drawWith(key)).status).toBe(502);
    lab.upstream.always(makes([made]));
    for (let turn = 0; turn < 2; turn++) expect((await drawWith(key)).status).toBe(200);
    expect((await drawWith(key)).status).toBe(402);
    await expect.poll(async () => (await ask('GET', `/keys/${hash}`)).body.data.usage as number).toBeCloseTo(0.2, 9);
  });

  it('is a 403 over the budget of its guardrail', async () => {
    const key = await guard({ limit_usd: 0.15, reset_interval: 'daily' });
    lab.upstream.always(makes([made]));
    expect((await drawWith(key)).status).toBe(200);
    const outcome = await drawWith(key);
    expect(outcome.status).toBe(403);
    expect(outcome.body.error!.message).toContain('may spend 0.15 USD per day');
  });

  it.each([
    [null, 401],
    ['sk-rt-v1-of-nobody', 401],
  ])('is a %s without a valid key', async (key, status) => {
    expect((await draw(lab.gateway, { model: `${wire}/one`, ...(stream && { stream }) }, { key })).status).toBe(status);
  });
});

it('the lists have the image models that a key can use', async () => {
  const key = await guard({ allowed_models: ['bfl/*'], ignored_providers: ['last'] });
  const idsOf = async (path: string): Promise<string[]> =>
    (await ask('GET', path, undefined, key)).body.data
      .map(({ id }: Json) => id)
      .filter((id: string) => /\/(one|two)$/.test(id));
  for (const list of ['/models?output_modalities=image', '/models/user?output_modalities=image', '/images/models']) {
    expect((await idsOf(list)).toSorted(), list).toEqual(['bfl/one', 'bfl/two']);
  }
  const { body } = await ask('GET', '/images/models/bfl/two/endpoints', undefined, key);
  expect(body.endpoints.map(({ provider_slug }: Json) => provider_slug)).toEqual(['bfl']);
});
