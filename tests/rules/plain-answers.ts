import { json } from '../../src/testing/scripted-responses.ts';

const usage = { input_tokens: 1, output_tokens: 1 };

/** Creates a whole response with a text, in the format of each wire. */
export const plainAnswers = {
  'openai-chat': (content: string) =>
    json({ choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }] }),
  'openai-responses': (text: string) =>
    json({
      id: 'r',
      object: 'response',
      status: 'completed',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] }],
    }),
  'anthropic-messages': (text: string) =>
    json({
      id: 'm',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      usage,
    }),
  gemini: (text: string) =>
    json({ candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }] }),
};

export type AnsweringWire = keyof typeof plainAnswers;
export const answeringWires = Object.keys(plainAnswers) as AnsweringWire[];
