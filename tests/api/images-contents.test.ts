import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytes } from '../../src/testing/scripted-responses.ts';
import { startUpstream } from '../../src/testing/scripted-upstream.ts';
import { dataUrl, paint, reference } from './images-lab.ts';
import { caseOf, failureOf, type ImageLab, imageCases, openImageLab } from './images-wires.ts';
import { type Json, manage } from './manage.ts';

let lab: ImageLab;
let made: Buffer;
let shown: Buffer;
const host = await startUpstream();
const ask = manage(() => lab.gateway);
const keep = (is_observability_io_logging_enabled: boolean) =>
  ask('PATCH', '/workspaces/main', { is_observability_io_logging_enabled });
beforeAll(async () => {
  lab = await openImageLab({ outbound: { allow: [new URL(host.url).host] } });
  [made, shown] = await Promise.all([paint({ width: 64, height: 48 }), paint({ width: 32, height: 20 }, 'jpeg')]);
  await keep(true);
});
afterAll(() => Promise.all([lab.close(), host.close()]));

async function contentOf({ headers }: { headers: Headers }): Promise<Json> {
  const { status, body } = await ask('GET', `/generation/content?id=${headers.get('x-generation-id')}`);
  return status === 404 ? undefined : body.data;
}

const digest = (image: Buffer, media_type: string, width: number, height: number) => ({
  media_type,
  bytes: image.length,
  sha256: hash('sha256', image),
  width,
  height,
});

describe.each(imageCases)('GET /generation/content of images, $wire, $mode', ({ wire, mode }) => {
  const how = { wire, mode };
  const { makes } = caseOf(wire);

  it('returns the prompt, and the kind, size and hash of images', async () => {
    lab.upstream.always(makes([made]));
    const outcome = await lab.ask(how, { prompt: 'A red fox', input_references: [reference(dataUrl(shown))] });
    const content = await contentOf(outcome);
    expect(content).toMatchObject({ error: null, truncated: false });
    expect(content.input).toEqual({
      items: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'A red fox' },
            { type: 'input_image', ...digest(shown, 'image/jpeg', 32, 20) },
          ],
        },
      ],
    });
    expect(content.output).toEqual([{ type: 'image_generation_call', ...digest(made, 'image/png', 64, 48) }]);
  });

  it('returns the reason of a failure', async () => {
    lab.upstream.always(makes([Buffer.from('no picture')]));
    const outcome = await lab.ask(how);
    expect(failureOf(outcome).status).toBe(502);
    expect(await contentOf(outcome)).toMatchObject({ output: [], error: { code: 502 } });
  });
});

const how = { wire: 'openai-images', mode: 'buffered' } as const;

it('names only the host of a fetched reference', async () => {
  lab.upstream.always(caseOf('openai-images').makes([made]));
  host.respond(bytes(shown));
  const outcome = await lab.ask(how, {
    input_references: [reference(`${host.url}/secret-path.jpg?token=secret-token`)],
  });
  const content = await contentOf(outcome);
  const [item] = content.input.items;
  expect(item.content[1]).toEqual({
    type: 'input_image',
    host: '127.0.0.1',
    ...digest(shown, 'image/jpeg', 32, 20),
  });
  expect(JSON.stringify(content)).not.toContain('secret-');
});

it('reports a rejected reference', async () => {
  const none = Buffer.from('no picture');
  const outcome = await lab.ask(how, { input_references: [reference(dataUrl(none))] });
  const content = await contentOf(outcome);
  expect(content.input.items[0].content[1]).toEqual({
    type: 'input_image',
    media_type: 'image/png',
    bytes: none.length,
    sha256: hash('sha256', none),
  });
  expect(content.error).toMatchObject({ error_type: 'invalid_image' });
});

it('stores nothing of images unless the workspace opts in', async () => {
  await keep(false);
  lab.upstream.always(caseOf('openai-images').makes([made]));
  expect(await contentOf(await lab.ask(how))).toBeUndefined();
  await keep(true);
});
