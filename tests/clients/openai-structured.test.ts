import { zodTextFormat } from 'openai/helpers/zod';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startBackEnds } from './back-end.ts';
import { openaiClient } from './openai-client.ts';

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

const meeting = z.object({ title: z.string(), people: z.array(z.string()), hours: z.number().nullable() });
const format = zodTextFormat(meeting, 'meeting', { description: 'A meeting.' });
const value = { title: 'Jour fixe', people: ['Ada', 'Zoë'], hours: 1.5 };
const turn = { text: JSON.stringify(value) };

describe.each(backEnds.all)('structured output in the openai client with $kind', (backEnd) => {
  const client = openaiClient(backEnd);
  const { model, kind } = backEnd;

  it('parses a buffered response with a zod schema', async () => {
    const input = backEnd.script('Which meeting?', turn);
    backEnd.takeUpstreamBodies();

    const response = await client.responses.parse({ model, input, text: { format } });

    expect(response.output_parsed).toEqual(value);
    const [body] = backEnd.takeUpstreamBodies();
    const asked = { name: 'meeting', strict: true, description: 'A meeting.', schema: format.schema };
    if (kind === 'openai-chat') {
      expect(body).toMatchObject({ response_format: { type: 'json_schema', json_schema: asked } });
    }
    if (kind === 'openai-responses') {
      expect(body).toMatchObject({ text: { format: { type: 'json_schema', ...asked } } });
    }
  });

  it('parses a streamed response with a zod schema', async () => {
    const input = backEnd.script('Which meeting?', turn);

    const response = await client.responses.stream({ model, input, text: { format } }).finalResponse();

    expect(response.output_parsed).toEqual(value);
    expect(response.text).toMatchObject({ format: { type: 'json_schema', name: 'meeting' } });
  });

  it.runIf(backEnd.can.reportRefusals)('parses nothing if the model refuses', async () => {
    const input = backEnd.script('Which meeting?', { refusal: 'I keep that to myself.' });

    const response = await client.responses.parse({ model, input, text: { format } });

    expect(response.output_parsed).toBeNull();
    expect(response.output[0]).toMatchObject({ content: [{ type: 'refusal', refusal: 'I keep that to myself.' }] });
  });

  it('accepts the format json_object', async () => {
    const input = backEnd.script('Which meeting? In JSON.', turn);

    const response = await client.responses.create({ model, input, text: { format: { type: 'json_object' } } });

    expect(JSON.parse(response.output_text)).toEqual(value);
  });
});

it('gets a response that matches the schema from the simulator', async () => {
  const simulator = backEnds.all[0]!;

  const response = await openaiClient(simulator).responses.parse({
    model: simulator.model,
    input: 'Make up a meeting.',
    text: { format },
  });

  expect(meeting.safeParse(response.output_parsed).success).toBe(true);
});
