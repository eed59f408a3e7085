import { deflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import { createDocx, createPdf } from '../../testing/sample-files.ts';
import { type ExtractorSettings, FileExtractor } from './file-extractor.ts';

const MIB = 1024 * 1024;
const usual: ExtractorSettings = {
  maxPages: 20_000,
  maxCharacters: 100_000,
  maxUnpackedBytes: 16 * MIB,
  timeoutMs: 30_000,
  requestTimeoutMs: 60_000,
  memory: 128 * MIB,
  parallel: 1,
  queue: 1,
};

function open(settings: Partial<ExtractorSettings> = {}) {
  const reports: string[] = [];
  const extractor = new FileExtractor(
    () => ({ ...usual, ...settings }),
    (detail) => void reports.push(detail),
  );
  const extract = (bytes: Buffer, cancellation = new Cancellation(), share = { workspaceId: 'w', usedMs: 0 }) =>
    extractor.extract(bytes, { mediaType: '' }, { share, cancellation });
  return { extract, reports };
}

const hello = createPdf([['Hello.']]);
/** Spaces that are compressed twice: 2 KB become 1 GB of buffers. */
const bomb = createPdf([
  { data: deflateSync(deflateSync(Buffer.alloc(200 * MIB, ' '), { level: 1 })), filter: '[/FlateDecode /FlateDecode]' },
]);
const operators = createPdf([
  { data: deflateSync(Buffer.from('BT /F1 12 Tf (hello) Tj ET\n'.repeat(2_000_000))), filter: '/FlateDecode' },
]);
/** Takes many seconds to read: 400 pages of 200,000 operators that change nothing. */
const slow = createPdf(Array(400).fill({ data: deflateSync('q Q '.repeat(100_000)), filter: '/FlateDecode' }));

it('reads files in a thread, one after another', async () => {
  const { extract } = open({ queue: 10 });
  const files = await Promise.all(Array.from({ length: 5 }, (_, at) => extract(createPdf([[`File ${at}.`]]))));
  expect(files.map(({ text }) => text)).toEqual(Array.from({ length: 5 }, (_, at) => `File ${at}.`));
});

it('passes the fault of a file on, and reads the next one', async () => {
  const { extract, reports } = open();
  await expect(extract(hello.subarray(0, 100))).rejects.toThrow(/^It is damaged/);
  expect(await extract(hello)).toMatchObject({ text: 'Hello.' });
  expect(reports).toEqual([]);
});

it.each([
  ['buffers', bomb],
  ['heap', operators],
])('ends a file that takes too much memory (%s), and reads the next one', async (_what, bytes) => {
  const { extract } = open();
  await expect(extract(bytes)).rejects.toThrow('It takes more than 134217728 bytes of memory to read');
  expect(await extract(hello)).toMatchObject({ text: 'Hello.' });
});

it('ends a file that takes too long, and reads the next one', async () => {
  let timeoutMs = 700;
  const { extract } = open({
    get timeoutMs() {
      return timeoutMs;
    },
  });
  await expect(extract(slow)).rejects.toThrow('It took longer than 700 ms to read (plugins.file_parser.timeout_ms).');
  timeoutMs = 30_000;
  expect(await extract(hello)).toMatchObject({ text: 'Hello.' });
});

it('rejects files beyond its queue at once', async () => {
  const { extract } = open();
  const cancellation = new Cancellation();
  const running = extract(slow, cancellation);
  const waiting = extract(hello);
  await expect(extract(hello)).rejects.toMatchObject({ kind: 'unavailable', retryAfterSeconds: 1, retryable: true });
  const gone = new GatewayError('client_closed', 'The client disconnected.');
  cancellation.cancel(gone);
  await expect(running).rejects.toBe(gone);
  expect(await waiting).toMatchObject({ text: 'Hello.' });
});

it('forgets a file whose client disconnects while it waits', async () => {
  const { extract } = open({ queue: 2 });
  const [first, second] = [new Cancellation(), new Cancellation()];
  const running = extract(slow, first);
  const waiting = extract(createDocx('<w:p/>'), second);
  const last = extract(hello);
  const gone = new GatewayError('client_closed', 'The client disconnected.');
  second.cancel(gone);
  await expect(waiting).rejects.toBe(gone);
  first.cancel(gone);
  await expect(running).rejects.toBe(gone);
  expect(await last).toMatchObject({ text: 'Hello.' });
  await expect(extract(hello, second)).rejects.toBe(gone);
});
