import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ContentKind, contentKinds } from '../domain/content-record.ts';
import { GatewayError } from '../domain/errors.ts';
import { openLog } from '../platform/telemetry/open-log.ts';
import { type ContentRules, type RunContent, writeContent } from './write-content.ts';

const byDefault = contentKinds.filter((kind) => kind !== 'reasoning_text');
const noMask = { hide: (text: string) => text, longest: 0 };

function write(
  content: Partial<RunContent>,
  rules: Partial<Omit<ContentRules, 'keep'>> & { keep?: ContentKind[] } = {},
) {
  const { keep = byDefault, ...others } = rules;
  const written = writeContent(
    { instructions: null, items: [], tools: undefined, output: [], error: undefined, ...content },
    { maxBytes: 262_144, mask: noMask, ...others, keep: new Set(keep) },
  );
  const { input, output, error } = written;
  const bytes = Buffer.byteLength(input + output + (error ?? ''));
  return { ...written, bytes, input: JSON.parse(input), output: JSON.parse(output), error: error && JSON.parse(error) };
}
const said = (text: string, role = 'user') => ({ type: 'message', role, content: text });
const png = Buffer.from('a picture');
const digest = { bytes: 9, sha256: hash('sha256', png) };
const dataUrl = `data:image/png;base64,${png.toString('base64')}`;

describe('a kept content', () => {
  it('has texts of messages, calls, results and summaries, instructions, and tools by name', () => {
    const written = write({
      instructions: 'Be brief.',
      items: [
        said('hi'),
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'yes', annotations: [{}] }] },
        { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'weather', arguments: '{"city":"Zürich"}' },
        { type: 'function_call_output', call_id: 'c1', output: '21 °C' },
        { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'done' }] },
      ],
      tools: [{ type: 'function', name: 'weather', parameters: { secret: 'x' } }, { type: 'web_search' }],
      output: [
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'I think' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] },
      ],
    });
    expect(written).toMatchObject({ isCut: false, error: null });
    expect(written.input).toEqual({
      instructions: 'Be brief.',
      items: [
        said('hi'),
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'yes' }] },
        { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Zürich"}' },
        { type: 'function_call_output', call_id: 'c1', output: '21 °C' },
        { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'done' }] },
      ],
      tools: ['weather', 'web_search'],
    });
    expect(written.output).toEqual([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'I think' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] },
    ]);
  });

  it('has the type, size and SHA-256 of images, files and audio, and the host of URLs', () => {
    const content = [
      { type: 'input_image', image_url: dataUrl },
      { type: 'input_image', image_url: 'https://user:pw@cdn.example.com/a/b.png?token=secret' },
      { type: 'input_file', filename: 'me.pdf', file_data: png.toString('base64') },
      { type: 'input_audio', input_audio: { data: png.toString('base64'), format: 'mp3' } },
      { type: 'input_image', file_id: 'file-12345678' },
      { type: 'strange', text: 'who knows' },
    ];
    const { input } = write({ items: [{ type: 'message', role: 'user', content }] });
    expect(input.items[0].content).toEqual([
      { type: 'input_image', media_type: 'image/png', ...digest },
      { type: 'input_image', host: 'cdn.example.com' },
      { type: 'input_file', ...digest },
      { type: 'input_audio', ...digest },
      { type: 'input_image', omitted_characters: 'input_imagefile-12345678'.length },
      { type: 'strange', omitted_characters: 'strangewho knows'.length },
    ]);
  });

  it('has the size and hash of data inside a text, in its place', () => {
    const data = Buffer.alloc(3000, 'x');
    const base64 = data.toString('base64');
    const mark = `[base64: 3000 bytes, sha256 ${hash('sha256', data)}]`;
    for (const before of ['', 'a', 'b '.repeat(511), 'c '.repeat(512), 'd '.repeat(3000)]) {
      const { input } = write({ items: [said(`${before} data:image/png;base64,${base64} and (${base64})`)] });
      expect(input.items[0].content).toBe(`${before} data:image/png;base64,${mark} and (${mark})`);
    }
  });

  it('has no opaque reasoning, and no unlisted kind', () => {
    const sealed = { encrypted_content: 'gAAAA-sealed', signature: 'sig-sealed' };
    const written = write(
      {
        items: [
          { type: 'reasoning', summary: [], ...sealed },
          { type: 'compaction', encrypted_content: 'gAAAA-sealed' },
          { type: 'agent_message', content: [{ type: 'encrypted_content', encrypted_content: 'gAAAA-sealed' }] },
          { type: 'local_shell_call', call_id: 'c', action: { env: { TOKEN: 'hunter2' } } },
        ],
        output: [
          { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'hmm' }], ...sealed },
          { type: 'image_generation_call', result: png.toString('base64') },
          { type: 'odd kind of "thing"', data: 'hunter2' },
        ],
      },
      { keep: [...contentKinds] },
    );
    expect(JSON.stringify(written)).not.toMatch(/sealed|hunter2/);
    expect(written.output).toEqual([
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'hmm' }] },
      { type: 'image_generation_call', ...digest },
      { type: 'unknown', omitted_characters: expect.any(Number) },
    ]);
  });

  it.each<[ContentKind[], RegExp]>([
    [[], /^(?!.*(KEEP))/],
    [['messages'], /^(?!.*(I-KEEP|A-KEEP|R-KEEP|S-KEEP|T-KEEP|E-KEEP)).*M-KEEP/],
    [['instructions'], /^(?!.*(M-KEEP|A-KEEP)).*I-KEEP/],
    [['tool_calls'], /^(?!.*(M-KEEP|R-KEEP)).*A-KEEP/],
    [['tool_results'], /^(?!.*(M-KEEP|A-KEEP)).*R-KEEP/],
    [['reasoning_summary'], /^(?!.*(M-KEEP|T-KEEP)).*S-KEEP/],
    [['reasoning_text'], /^(?!.*(M-KEEP|S-KEEP)).*T-KEEP/],
    [['errors'], /^(?!.*(M-KEEP|I-KEEP)).*E-KEEP/],
  ])('with keep: %j has nothing else', (keep, shape) => {
    const reasoning = {
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'S-KEEP' }],
      content: [{ type: 'reasoning_text', text: 'T-KEEP' }],
    };
    const written = write(
      {
        instructions: 'I-KEEP',
        items: [
          said('M-KEEP'),
          said('I-KEEP', 'developer'),
          said('I-KEEP', 'system'),
          { type: 'function_call', call_id: 'c', name: 'A-KEEP', arguments: 'A-KEEP' },
          { type: 'function_call_output', call_id: 'c', output: 'R-KEEP' },
          { type: 'mcp_call', name: 'A-KEEP', output: 'R-KEEP' },
        ],
        output: [reasoning],
        error: new GatewayError('upstream_failed', 'E-KEEP'),
      },
      { keep },
    );
    expect(JSON.stringify([written.input, written.output, written.error])).toMatch(shape);
    expect(written.error).toMatchObject({ code: 502, error_type: 'provider_unavailable' });
  });

  it('has no secrets of the configuration, even in a truncated text', () => {
    const secrets = ['sk-provider-secret-0001', 'a "quoted" secret'];
    const { mask } = openLog({ level: 'silent', secrets });
    const items = [said(`one ${secrets[0]} two ${secrets[1]} three`), said(JSON.stringify({ key: secrets[1] }))];
    expect(write({ items }, { mask }).input.items).toEqual([
      said('one [secret] two [secret] three'),
      said('{"key":"[secret]"}'),
    ]);
    for (let length = 2900; length < 3100; length += 3) {
      const text = JSON.stringify(
        write({ items: [said('. '.repeat(length / 2) + secrets[0]?.repeat(99))] }, { mask, maxBytes: 4096 }),
      );
      expect(text).not.toContain('sk-');
    }
  });
});

describe('a content that is too long', () => {
  it('is truncated at a whole character, with a mark', () => {
    const emoji = write({ items: [said('🗝️ Zürich '.repeat(2000))] }, { maxBytes: 4096 });
    const kept = emoji.input.items[0].content as string;
    expect(kept).toMatch(/^(🗝️ Zürich )+.{0,10} … \[cut: 22000 characters in all\]$/u);
    expect(kept.isWellFormed()).toBe(true);
    expect(emoji.isCut).toBe(true);
    expect(emoji.bytes).toBeGreaterThan(2000);
    expect(emoji.bytes).toBeLessThanOrEqual(4096);
  });

  it('keeps the newest of the input and the first of the output, and counts what was omitted', () => {
    const items = Array.from({ length: 1000 }, (_, index) => said(`question ${index} ${'x '.repeat(50)}`));
    const output = Array.from({ length: 1000 }, (_, index) => said(`answer ${index} ${'x '.repeat(50)}`, 'assistant'));
    const { input, output: kept, isCut, bytes } = write({ items, output }, { maxBytes: 16_384 });
    expect(isCut).toBe(true);
    expect(bytes).toBeLessThanOrEqual(16_384);
    expect(input.items[0]).toEqual({ type: 'cut', entries: 1000 - (input.items.length - 1) });
    expect(input.items.at(-1).content).toContain('question 999');
    expect(kept[0].content).toContain('answer 0 ');
    expect(kept.at(-1)).toEqual({ type: 'cut', entries: 1000 - (kept.length - 1) });
  });

  it('uses the room that the other side leaves', () => {
    const long = 'word '.repeat(1800);
    expect(write({ items: [said(long)], output: [said('ok')] }, { maxBytes: 10_240 }).isCut).toBe(false);
    expect(write({ items: [said('ok')], output: [said(long)] }, { maxBytes: 10_240 }).isCut).toBe(false);
    const both = write({ items: [said(long)], output: [said(long)] }, { maxBytes: 10_240 });
    expect(both.isCut).toBe(true);
    expect(both.output[0].content.length).toBeGreaterThan(4000);
    expect(both.input.items[0].content.length).toBeGreaterThan(4000);
  });

  it('stays within its bound, whatever it contains', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.string({ unit: 'binary', minLength: 500, maxLength: 5000 }),
      fc.constant('\0'.repeat(3000)),
      fc.constant('A'.repeat(5000)),
      fc.constant('"\\'.repeat(4000)),
    );
    const part = fc.oneof(
      fc.record({ type: fc.constant('input_text'), text }),
      fc.record({ type: fc.constant('input_image'), image_url: text }),
      fc.record({ type: text, anything: text }),
    );
    const item = fc.oneof(
      fc.record({
        type: fc.constant('message'),
        role: text,
        content: fc.oneof(text, fc.array(part, { maxLength: 30 })),
      }),
      fc.record({ type: fc.constant('function_call'), call_id: text, name: text, namespace: text, arguments: text }),
      fc.record({
        type: fc.constant('mcp_call'),
        call_id: text,
        server_label: text,
        name: text,
        arguments: text,
        output: text,
        error: text,
      }),
      fc.record({ type: fc.constant('reasoning'), summary: fc.array(part), content: fc.array(part) }),
      fc.record({ type: fc.constant('additional_tools'), tools: fc.array(fc.record({ type: text, name: text })) }),
      fc.record({ type: text }),
    );
    const content = fc.record({
      instructions: fc.option(text),
      items: fc.array(item, { maxLength: 60 }),
      tools: fc.option(fc.array(fc.record({ type: text, name: text }), { maxLength: 60 }), { nil: undefined }),
      output: fc.array(item, { maxLength: 60 }),
      error: fc.option(
        text.map((message) => new GatewayError('upstream_failed', message)),
        { nil: undefined },
      ),
    });
    fc.assert(
      fc.property(content, fc.integer({ min: 4096, max: 20_000 }), (given, maxBytes) => {
        const { bytes, input, output } = write(given, { maxBytes, keep: [...contentKinds] });
        expect(bytes).toBeLessThanOrEqual(maxBytes);
        expect(JSON.stringify([input, output]).isWellFormed()).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});
