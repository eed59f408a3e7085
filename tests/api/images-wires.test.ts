import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bytes, json } from '../../src/testing/scripted-responses.ts';
import { dataUrl, look, paint, reference } from './images-lab.ts';
import {
  caseOf,
  failureOf,
  type ImageLab,
  imageCases,
  imageWireNames,
  openImageLab,
  imagesOf,
  recorded,
  usageOf,
} from './images-wires.ts';
import { providerKey } from './lab.ts';
import { newSession, rowsOf } from './ledger-rows.ts';

let lab: ImageLab;
beforeEach(async () => {
  lab = await openImageLab();
});
afterEach(() => lab.close());

const generation = async (id: string | null) => {
  const answer = await lab.gateway.get(`/generation?id=${id}`);
  return ((await answer.json()) as { data: Record<string, unknown> }).data;
};

describe.each(imageCases)('$wire, $mode', ({ wire, mode }) => {
  const how = { wire, mode };
  const { makes, promptOf, streams, many, errors } = caseOf(wire);

  it('returns the unchanged image, its media type and its cost', async () => {
    const made = await paint({ width: 64, height: 48 });
    lab.upstream.always(makes([made]));
    const outcome = await lab.ask(how, { prompt: 'A red fox' });

    expect(outcome.status).toBe(200);
    expect(outcome.headers.get('x-generation-id')).toMatch(/^gen-/);
    expect(imagesOf(outcome)).toEqual([{ b64_json: made.toString('base64'), media_type: 'image/png' }]);
    expect(usageOf(outcome)).toMatchObject({ cost: 0.1, is_byok: false });
    expect(promptOf(lab.upstream.requests[0]!)).toBe('A red fox');
  });

  it('streams if the wire does, and otherwise responds with one body', async () => {
    lab.upstream.always(makes([await paint({ width: 64, height: 64 })]));
    const { headers, events, done } = await lab.ask(how);
    const isStream = mode === 'streamed' && streams;
    expect(headers.get('content-type')).toMatch(isStream ? /^text\/event-stream/ : /^application\/json/);
    expect(done).toBe(isStream);
    expect(events.some(({ type }) => type === 'image_generation.partial_image')).toBe(isStream);
  });

  it('records the generation under the id of the header', async () => {
    lab.upstream.always(makes([await paint({ width: 64, height: 64 })]));
    const { headers } = await lab.ask(how);
    expect(await generation(headers.get('x-generation-id'))).toMatchObject({
      api_type: 'image',
      provider_name: `The ${wire}`,
      model: `${wire}/one`,
      total_cost: 0.1,
      cancelled: false,
    });
  });

  it(many ? 'gives as many pictures as were made' : 'refuses to make several at once', async () => {
    const made = await Promise.all([64, 80].map((width) => paint({ width, height: 64 })));
    lab.upstream.always(makes(made));
    const outcome = await lab.ask(how, { n: 2 });
    if (many) {
      expect(imagesOf(outcome).map(({ b64_json }) => b64_json)).toEqual(made.map((each) => each.toString('base64')));
      expect(usageOf(outcome)).toMatchObject({ cost: 0.2 });
    } else {
      expect(failureOf(outcome)).toMatchObject({ status: 400, type: 'invalid_request' });
      expect(lab.upstream.requests).toHaveLength(0);
    }
  });

  it('sends the references', async () => {
    lab.upstream.always(makes([await paint({ width: 64, height: 64 })]));
    const shown = await paint({ width: 48, height: 32 });
    const outcome = await lab.ask(how, { input_references: [reference(dataUrl(shown))] });
    expect(outcome.status).toBe(200);
    const { text, headers } = lab.upstream.requests[0]!;
    if (headers['content-type']?.startsWith('multipart/form-data')) expect(text).toContain('PNG');
    else expect(text).toContain(shown.toString('base64'));
  });

  it('never sends the end user or the session', async () => {
    lab.upstream.always(makes([await paint({ width: 64, height: 64 })]));
    await lab.ask(how, { user: 'ada@example.org', session_id: 'session-of-ada' });
    const sent = lab.upstream.requests.map(({ text, path, headers }) => text + path + JSON.stringify(headers)).join();
    expect(sent).not.toContain('ada@example.org');
    expect(sent).not.toContain('session-of-ada');
  });

  it('is a content_policy_violation if the provider rejects the content', async () => {
    lab.upstream.always(recorded(wire, errors.moderated));
    expect(failureOf(await lab.ask(how))).toMatchObject({ status: 400, type: 'content_policy_violation' });
  });

  it('is a 400 if the provider rejects the request', async () => {
    lab.upstream.always(recorded(wire, errors.badRequest));
    expect(failureOf(await lab.ask(how))).toMatchObject({ status: 400 });
  });

  it('is a 429 with Retry-After if the provider limits the rate', async () => {
    lab.upstream.always(recorded(wire, errors.rateLimited));
    const outcome = await lab.ask(how);
    expect(failureOf(outcome)).toMatchObject({ status: 429 });
    expect(outcome.headers.get('retry-after')).toBe('12');
  });

  it('is a 529 if the provider is overloaded', async () => {
    lab.upstream.always(json({ detail: 'Busy' }, { status: 503, headers: { 'retry-after': '3' } }));
    expect(failureOf(await lab.ask(how))).toMatchObject({ status: 529, type: 'provider_overloaded' });
  });

  it('is a 502, never a 401, if the provider rejects our key, and does not show it', async () => {
    lab.upstream.always(recorded(wire, errors.badKey));
    const outcome = await lab.ask(how);
    expect(failureOf(outcome)).toMatchObject({ status: 502, type: 'provider_unavailable' });
    expect(outcome.text).not.toContain(providerKey);
  });

  it('is a 502 that costs nothing if the provider fails', async () => {
    lab.upstream.always(recorded(wire, errors.serverError));
    const outcome = await lab.ask(how);
    expect(failureOf(outcome)).toMatchObject({ status: 502, type: 'provider_unavailable' });
    expect(await generation(outcome.headers.get('x-generation-id'))).toMatchObject({ total_cost: 0, status: 502 });
  });

  it.each([
    ['hangs up', { ...json({}), start: 'reset' as const }],
    ['says what is no JSON', bytes('<html>Hello</html>', { headers: { 'content-type': 'text/html' } })],
    ['says nothing of a picture', json({ hello: 'there' })],
  ])('is a 502 if the provider %s', async (_, answer) => {
    lab.upstream.always(answer);
    expect(failureOf(await lab.ask(how))).toMatchObject({ status: 502, type: 'provider_unavailable' });
  });

  it('is a 502 if the image is invalid', async () => {
    lab.upstream.always(makes([Buffer.from('this is no picture at all')]));
    const outcome = await lab.ask(how);
    expect(failureOf(outcome)).toMatchObject({ status: 502, type: 'provider_unavailable' });
    expect(await generation(outcome.headers.get('x-generation-id'))).toMatchObject({ total_cost: 0 });
  });

  it('falls back to the next endpoint if the first one fails', async () => {
    const made = await paint({ width: 64, height: 64 });
    lab.upstream.always(recorded(wire, errors.serverError));
    lab.other.always(caseOf('openai-images').makes([made]));
    const outcome = await lab.ask(how, { model: `${wire}/two`, provider: { order: [wire, 'last'] } });
    expect(outcome.status).toBe(200);
    expect(imagesOf(outcome)[0]!.b64_json).toBe(made.toString('base64'));
    expect(lab.upstream.requests.length).toBeGreaterThan(0);
  });

  it('does not fall back if fallbacks are off', async () => {
    lab.upstream.always(recorded(wire, errors.serverError));
    const provider = { order: [wire], allow_fallbacks: false };
    expect(failureOf(await lab.ask(how, { model: `${wire}/two`, provider }))).toMatchObject({ status: 502 });
    expect(lab.other.requests).toHaveLength(0);
  });

  it('passes the allowed provider options of an endpoint, and no others', async () => {
    lab.upstream.always(makes([await paint({ width: 64, height: 64 })]));
    const listed = await lab.gateway.get(`/images/models/${wire}/one/endpoints`);
    const { endpoints } = (await listed.json()) as { endpoints: { allowed_passthrough_parameters: string[] }[] };
    const [allowed] = endpoints[0]!.allowed_passthrough_parameters;
    await lab.ask(how, { provider: { options: { [wire]: { [allowed!]: 'let-through', webhook_url: 'kept-back' } } } });
    expect(lab.upstream.requests[0]!.text).toContain('let-through');
    expect(lab.upstream.requests[0]!.text).not.toContain('kept-back');
  });

  it('aborts the generation at the provider, at no cost, if the client disconnects', async () => {
    const client = new AbortController();
    lab.upstream.always({ ...json({}), start: 'silence' });
    const session_id = newSession();
    const asked = lab.ask(how, { session_id }, client.signal);
    const request = await lab.upstream.nextRequest();
    client.abort();
    await expect(asked).rejects.toThrow();
    expect(await request.closed).toBe('aborted');
    expect(await rowsOf(lab.gateway.dataDir, session_id)).toMatchObject([{ outcome: 'cancelled', cost_nano_usd: 0 }]);
  });
});

describe.each(imageWireNames)('%s', (wire) => {
  it('is listed among the image models with the capabilities of its wire', async () => {
    const { data } = (await (await lab.gateway.get('/images/models')).json()) as { data: Record<string, unknown>[] };
    expect(data.find(({ id }) => id === `${wire}/one`)).toMatchObject({
      architecture: { output_modalities: caseOf(wire).output ?? ['image'] },
      supports_streaming: caseOf(wire).streams,
    });
  });

  it.skipIf(caseOf(wire).output?.includes('text'))('makes no text', async () => {
    const answer = await lab.gateway.post('/responses', { model: `${wire}/one`, input: 'Hello' });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { availability: { code: 'wrong_endpoint' } } });
  });

  it('generates what it lists', async () => {
    const made = await paint({ width: 64, height: 64 }, 'jpeg');
    lab.upstream.always(caseOf(wire).makes([made]));
    const [image] = imagesOf(await lab.ask({ wire, mode: 'buffered' }, { output_format: 'png' }));
    expect(image!.media_type).toBe('image/jpeg'); // by its content, not by the request
    expect(await look(image!.b64_json)).toMatchObject({ format: 'jpeg' });
  });
});
