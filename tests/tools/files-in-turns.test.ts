import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPdf } from '../../src/testing/sample-files.ts';
import type { Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, type ToolLab, wireNames } from './lab.ts';

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
});
afterAll(() => lab.close());

const pdf = createPdf([['The text of the file.']]);
const request = {
  input: [
    {
      role: 'user',
      content: [{ type: 'input_file', filename: 'a.pdf', file_data: pdf.toString('base64') }],
    },
  ],
  plugins: [{ id: 'file-parser' }],
  tools: [{ type: 'router:datetime' }],
};
const looking: Turn = { reasoning: 'I need the time.', calls: [call('router_datetime', {})] };
const answering: Turn = { reasoning: 'Now I know.', text: 'It is late.' };

describe.each(wireNames)('a file in a request with server tools on %s', (wire) => {
  it.each(modes)('%s: every turn gets its text, and the first text of the response its annotation', async (mode) => {
    for (const first of [looking, { ...looking, text: 'Let me look.' }]) {
      lab.takeRequests();
      lab.script(wire, first, answering);
      const { body, events } = await lab.respond(wire, mode, request);

      const texts = lab.takeRequests().map(({ text }) => text);
      expect(texts).toHaveLength(2);
      for (const text of texts) {
        expect(text).toContain('The text of the file.');
        expect(text).not.toContain(pdf.toString('base64'));
        expect(text).not.toContain('"hash"');
      }
      const messages = body.output.filter(({ type }) => type === 'message') as object[] as {
        content: { annotations: object[] }[];
      }[];
      expect(messages.map(({ content }) => content[0]!.annotations)).toMatchObject([
        [{ type: 'file', file: { name: 'a.pdf', content: [{ type: 'text', text: 'The text of the file.' }] } }],
        ...messages.slice(1).map(() => []),
      ]);
      const added = events.filter(({ type }) => type === 'response.output_text.annotation.added');
      expect(added).toHaveLength(mode === 'streamed' ? 1 : 0);
    }
  });
});
