import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDocx, createPdf } from '../../src/testing/sample-files.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/files.md'), 'utf8');
const pdf = createPdf([['The report of the guide.']]);
const docx = createDocx('<w:p><w:r><w:t>The plan of the guide.</w:t></w:r></w:p>');

let gateway: TestGateway;
let files: Server;
beforeAll(async () => {
  files = createServer((_request, response) => response.end(pdf)).listen(0, '127.0.0.1');
  await once(files, 'listening');
  const host = `127.0.0.1:${(files.address() as AddressInfo).port}`;
  gateway = await testGateway({
    providers: [{ id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/echo', upstream_model: 'echo' }] }],
    outbound: { allow: [host] },
  });
  const form = new FormData();
  form.append('file', new File([pdf as unknown as string], 'report.pdf'));
  const headers = { authorization: `Bearer ${gateway.key}` };
  const stored = await fetch(`${gateway.baseUrl}/files`, { method: 'POST', headers, body: form });
  urls.set('file_w0VhGq7aXk2Lr9TzB4yNc8Wd1', ((await stored.json()) as { id: string }).id);
  urls.set('https://example.com/report.pdf', `http://${host}/report.pdf`);
});
afterAll(async () => {
  await gateway.close();
  files.closeAllConnections();
  files.close();
});

/** Placeholders of the guide that stand for what the tests create. */
const urls = new Map<string, string>();
const fill = (text: string): string =>
  [
    ['JVBERi0…', pdf.toString('base64')],
    ['UEsDBBQ…', docx.toString('base64')],
    ["$(base64 < report.pdf | tr -d '\\n')", pdf.toString('base64')],
    ...urls,
  ].reduce((filled, [placeholder, value]) => filled.replaceAll(placeholder!, value!), text);

const bodies = [
  ...[...guide.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text]) => text!),
  ...[...guide.matchAll(/<<END\n([\s\S]*?)^END$/gm)].map(([, text]) => text!),
];

describe('examples of docs/guides/files.md', () => {
  it('are found', () => expect(bodies).toHaveLength(6));

  it.each(bodies.map((text) => ({ text })))('work: $text', async ({ text }) => {
    const body = JSON.parse(fill(text)) as { model: string };
    expect(body.model).toBe('simulator/echo');
    const response = await gateway.post('/responses', body);
    const answer = await response.text();
    expect(response.status, answer).toBe(200);
    const isNative = text.includes('"native"');
    expect(answer.includes('The report of the guide.')).toBe(!isNative);
    expect(answer.includes('The plan of the guide.')).toBe(text.includes('plan.docx'));
  });
});
