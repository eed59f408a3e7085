/**
 * Measures what the format of an API costs beside that of `POST /responses`, for the same conversation: body to request,
 * events to a stream, response to a body.
 *
 *     node bench/apis.ts              µs, best of the rounds, and the ratio to /responses
 *     node bench/apis.ts --rounds 20
 */
import { parseArgs } from 'node:util';
import type { ChatFacts } from '../src/api/chat-completions/chat-facts.ts';
import { ChatChunkWriter } from '../src/api/chat-completions/write-chunks.ts';
import { writeCompletion } from '../src/api/chat-completions/write-completion.ts';
import { acceptRequest, checkAccepted } from '../src/api/responses/accept-request.ts';
import type { Chunk } from '../src/domain/chunks.ts';
import { usage } from '../src/domain/usage.ts';
import { EventWriter } from '../src/http/sse.ts';
import { EventBuilder } from '../src/pipeline/events/build-events.ts';
import { createResponseObject } from '../src/pipeline/events/response-object.ts';
import type { ResponseEvent } from '../src/domain/events.ts';
import type { ResponseObject } from '../src/domain/response.ts';
import { checkChatBody, readChat } from '../src/requests/chat/request.ts';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '10' } } });
const rounds = Number(options.rounds);

const parameters = {
  type: 'object',
  properties: { query: { type: 'string', description: 'Words' } },
  required: ['query'],
};
const common = { model: 'acme/mock-model', tool_choice: 'auto', temperature: 0.7, top_p: 0.95, user: 'user-12345' };

/** A conversation with calls, in both formats. */
function createBodies(turns: number): { responses: string; chat: string } {
  const input: object[] = [];
  const messages: object[] = [{ role: 'system', content: 'You are a careful support assistant.' }];
  for (let turn = 0; turn < turns; turn++) {
    const text = `Ticket ${turn}: "the Größe is wrong" since Monday. `.repeat(6);
    const call = { name: 'search_tickets', arguments: `{"query":"size ${turn}"}` };
    const id = `call_${turn}`;
    input.push(
      { role: 'user', content: [{ type: 'input_text', text }] },
      { type: 'function_call', call_id: id, ...call },
      { type: 'function_call_output', call_id: id, output: text },
      { role: 'assistant', content: text },
    );
    messages.push(
      { role: 'user', content: [{ type: 'text', text }] },
      { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: call }] },
      { role: 'tool', tool_call_id: id, content: text },
      { role: 'assistant', content: text },
    );
  }
  const shape = { name: 'search_tickets', description: 'Searches tickets.', parameters };
  return {
    responses: JSON.stringify({
      ...common,
      instructions: 'You are a careful support assistant.',
      input,
      tools: [{ type: 'function', ...shape }],
      max_output_tokens: 1024,
    }),
    chat: JSON.stringify({
      ...common,
      messages,
      tools: [{ type: 'function', function: shape }],
      max_completion_tokens: 1024,
    }),
  };
}

function createEvents(): ResponseEvent[] {
  const builder = new EventBuilder({
    base: () => createResponseObject({}, 'resp_0123456789012345678901234', 1, 'acme/mock-model'),
    model: () => 'acme/one',
    settle: () => ({ usage: null, serviceTier: null, routerMetadata: undefined }),
    now: () => 2,
    limitBytes: 1e8,
  });
  const chunks: Chunk[] = Array.from({ length: 200 }, (_, at) => ({ type: 'text', delta: ` token${at}` }));
  const finish: Chunk = { type: 'finish', reason: 'stop', usage: usage({ inputTokens: 10, outputTokens: 200 }) };
  return [{ type: 'start' } as Chunk, ...chunks, finish].flatMap((chunk) => builder.build([chunk]));
}

const facts: ChatFacts = {
  id: 'gen-0123456789012345678901234',
  created: 1,
  requested: 'acme/mock-model',
  includesUsage: true,
  hidesReasoning: false,
  hasLegacyCalls: false,
  findProvider: () => 'Acme',
  findNativeReason: () => 'stop',
  findError: () => undefined,
  rename: (text) => text,
  readsNumbers: false,
};

const events = createEvents();
const { response } = events.at(-1) as { response: ResponseObject };
const small = createBodies(1);
const large = createBodies(30);

/** Name → the work of /responses, and the same of /chat/completions. */
const cases: Record<string, { responses: () => unknown; chat: () => unknown }> = {};
for (const [size, bodies] of Object.entries({ small, large })) {
  cases[`${size} body to request (${bodies.responses.length} bytes)`] = {
    responses: () => acceptRequest(JSON.parse(bodies.responses), {}),
    chat: () => checkAccepted(readChat(checkChatBody(JSON.parse(bodies.chat)), {}).read, {}),
  };
}
const writeAll = (writer: { write(event: ResponseEvent): string }): number =>
  events.reduce((sum, event) => sum + Buffer.byteLength(writer.write(event)), 0);
cases[`a stream of ${events.length} events`] = {
  responses: () => writeAll(new EventWriter()),
  chat: () => writeAll(new ChatChunkWriter(facts)),
};
cases['response to a body'] = {
  responses: () => JSON.stringify(response),
  chat: () => JSON.stringify(writeCompletion(response, facts)),
};

/** Returns the CPU of one call in µs. */
function measure(work: () => unknown): number {
  const before = process.cpuUsage();
  const start = process.hrtime.bigint();
  let times = 0;
  while (process.hrtime.bigint() - start < 60_000_000n) {
    work();
    times++;
  }
  const used = process.cpuUsage(before);
  return (used.user + used.system) / times;
}

for (const [name, { responses, chat }] of Object.entries(cases)) {
  let best = { responses: Number.POSITIVE_INFINITY, chat: Number.POSITIVE_INFINITY };
  for (let round = 0; round < rounds + 2; round++) {
    const now = { responses: measure(responses), chat: measure(chat) };
    if (round < 2) continue;
    best = { responses: Math.min(best.responses, now.responses), chat: Math.min(best.chat, now.chat) };
  }
  const ratio = (best.chat / best.responses).toFixed(2);
  console.log(
    `${best.responses.toFixed(2).padStart(9)} µs  ${best.chat.toFixed(2).padStart(9)} µs  × ${ratio}  ${name}`,
  );
}
