import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Size of a request body without the model's name and framing: 2 KB like most calls, 50 KB like agents. */
type PlainSize = '2k' | '50k';
/** A size, or 2 KB with a server tool: the model of the mock needs one step for the response, or five. */
export type BodySize = PlainSize | '1step' | '5steps';

/** The API of a request. Absent: `responses`. The other two carry the same conversation. */
export type BodyApi = 'responses' | 'chat' | 'messages';

/** The kind of gateway: one that knows model slugs, or one that passes on the provider's own name. */
export type BodyModel = 'slug' | 'upstream';

const targetBytes: Record<PlainSize, number> = { '2k': 2_000, '50k': 50_000 };
const modelNames: Record<BodyModel, string> = { slug: 'acme/mock-model', upstream: 'mock-model' };

/** Returns the file of one request body of `writeBodies`. */
export function bodyFile(
  folder: string,
  model: BodyModel,
  size: BodySize,
  stream: boolean,
  api: BodyApi = 'responses',
): string {
  return join(folder, `${api === 'responses' ? '' : `${api}-`}${model}-${size}${stream ? '-stream' : ''}.json`);
}

/** Writes every request body of the rig: each size, buffered and streamed, for both kinds of gateway. */
export function writeBodies(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const model of ['slug', 'upstream'] as const) {
    for (const size of ['2k', '50k'] as const) {
      for (const stream of [false, true]) {
        const body = createBody(model, size, stream);
        writeFileSync(bodyFile(folder, model, size, stream), JSON.stringify(body));
        writeFileSync(bodyFile(folder, model, size, stream, 'chat'), JSON.stringify(toChat(body)));
        writeFileSync(bodyFile(folder, model, size, stream, 'messages'), JSON.stringify(toMessages(body)));
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

type Body = ReturnType<typeof createBody>;
/** The fields of the items of a body that the other formats need. */
interface Item {
  role?: string;
  content?: string | { text: string }[];
  call_id: string;
  name?: string;
  arguments?: string;
  output?: string;
}

/** Writes the conversation of a body for `POST /chat/completions`. */
function toChat({ instructions, input, tools, max_output_tokens: max_completion_tokens, ...rest }: Body): object {
  const messages = (input as Item[]).map(({ role, content, call_id: id, name, arguments: text, output }) => {
    if (output !== undefined) return { role: 'tool', tool_call_id: id, content: output };
    if (name === undefined) return { role, content: renameParts(content) };
    return {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name, arguments: text } }],
    };
  });
  return {
    ...rest,
    messages: [{ role: 'system', content: instructions }, ...messages],
    tools: tools.map(({ type, ...shape }) => ({ type, function: shape })),
    max_completion_tokens,
    ...(rest.stream && { stream_options: { include_usage: true } }),
  };
}

/** Writes the conversation of a body for `POST /messages`. */
function toMessages({ instructions, input, tools, model, stream, ...rest }: Body): object {
  const messages = (input as Item[]).map(({ role, content, call_id: id, name, arguments: text, output }) => {
    if (output !== undefined)
      return { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: output }] };
    if (name === undefined) return { role, content: renameParts(content) };
    return { role: 'assistant', content: [{ type: 'tool_use', id, name, input: JSON.parse(text!) as object }] };
  });
  return {
    model,
    stream,
    system: instructions,
    messages,
    tools: tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
    max_tokens: rest.max_output_tokens,
    temperature: rest.temperature,
    metadata: { user_id: rest.user },
  };
}

const renameParts = (content: Item['content']) =>
  typeof content === 'string' ? content : content?.map(({ text }) => ({ type: 'text', text }));

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
