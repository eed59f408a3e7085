import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Size of a request body without the model's name and framing: 2 KB like most calls, 50 KB like agents. */
type PlainSize = '2k' | '50k';
/** A size, or 2 KB with a server tool: the model of the mock needs one step for the response, or five. */
export type BodySize = PlainSize | '1step' | '5steps';

/** The kind of gateway: one that knows model slugs, or one that passes on the provider's own name. */
export type BodyModel = 'slug' | 'upstream';

const targetBytes: Record<PlainSize, number> = { '2k': 2_000, '50k': 50_000 };
const modelNames: Record<BodyModel, string> = { slug: 'acme/mock-model', upstream: 'mock-model' };

/** Returns the file of one request body of `writeBodies`. */
export function bodyFile(folder: string, model: BodyModel, size: BodySize, stream: boolean): string {
  return join(folder, `${model}-${size}${stream ? '-stream' : ''}.json`);
}

/** Writes every request body of the rig: each size, buffered and streamed, for both kinds of gateway. */
export function writeBodies(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const model of ['slug', 'upstream'] as const) {
    for (const size of ['2k', '50k'] as const) {
      for (const stream of [false, true]) {
        writeFileSync(bodyFile(folder, model, size, stream), JSON.stringify(createBody(model, size, stream)));
      }
    }
    for (const stream of [false, true]) {
      writeFileSync(bodyFile(folder, model, '1step', stream), JSON.stringify(createRun(model, 1, stream)));
      writeFileSync(bodyFile(folder, model, '5steps', stream), JSON.stringify(createRun(model, 5, stream)));
    }
  }
}

/** Creates a support conversation of about `size` with two tools: text with quotes and non-ASCII, tool calls, parts. */
function createBody(model: BodyModel, size: PlainSize, stream: boolean) {
  const input: object[] = [];
  const body = {
    model: modelNames[model],
    instructions: 'You are a careful support assistant. Answer in plain English.',
    input,
    tools: [createTool('search_tickets'), createTool('search_docs')],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    temperature: 0.7,
    top_p: 0.95,
    max_output_tokens: 1024,
    stream,
    store: false,
    metadata: { team: 'support', trace: 'a1b2c3d4' },
    user: 'user-12345',
  };
  for (let turn = 0; JSON.stringify(body).length < targetBytes[size]; turn++) input.push(...createTurn(turn));
  return body;
}

/** Creates a conversation with a server tool. The mock reads the number of steps. */
function createRun(model: BodyModel, steps: number, stream: boolean) {
  const { instructions, tools, ...body } = createBody(model, '2k', stream);
  return { ...body, instructions: `${instructions} steps=${steps}`, tools: [...tools, { type: 'router:datetime' }] };
}

function createTurn(turn: number): object[] {
  if (turn % 6 === 3) return createToolCall(turn);
  const text = createParagraph(turn);
  if (turn % 2 === 1) {
    return [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] }];
  }
  return [{ type: 'message', role: 'user', content: turn % 4 === 0 ? text : [{ type: 'input_text', text }] }];
}

function createToolCall(turn: number): object[] {
  const call_id = `call_${turn}`;
  const rows = [{ id: turn, title: `Policy ${turn}`, score: 0.25 * turn }];
  return [
    {
      type: 'function_call',
      call_id,
      name: 'search_docs',
      arguments: JSON.stringify({ query: `retention ${turn}`, limit: 5 }),
    },
    { type: 'function_call_output', call_id, output: JSON.stringify({ rows }) },
  ];
}

function createParagraph(turn: number): string {
  return (
    `Turn ${turn}: the customer asks how the "retention" setting interacts with archived projects, and whether a ` +
    `change is applied\nretroactively. Quote the policy (section ${turn % 9}.${turn % 5}) and keep the answer short ` +
    '— at most three sentences; use °C and € where needed. '
  );
}

function createTool(name: string) {
  return {
    type: 'function',
    name,
    description: `Looks up ${name.replaceAll('_', ' ')} for a project and returns matching rows.`,
    parameters: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Search text' },
        limit: { type: 'integer', minimum: 1, maximum: 50 },
        since: { type: ['string', 'null'], format: 'date-time' },
      },
      required: ['query', 'limit'],
      additionalProperties: false,
    },
    strict: true,
  };
}
