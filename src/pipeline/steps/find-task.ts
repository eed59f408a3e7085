import type { InputItem } from '../../domain/items.ts';
import { keepRestrictions } from '../../domain/keep-restrictions.ts';
import { findSetting, type RequestSettings, type ResponseRequest } from '../../domain/request.ts';
import { findPinnedModel } from '../../routing/routers/auto.ts';
import { isTask, tasks } from '../../routing/routers/classify.ts';
import { requestJson } from '../request-json.ts';
import type { ResponsePipeline } from '../response-pipeline.ts';
import { buildRequest, type Run } from '../run/run.ts';

/** The model that classifies conversations. */
export interface Classifier {
  model: string;
  timeoutMs: number;
}

/** Characters of each turn that the model sees, and number of turns. */
const MAX_CHARACTERS = 5_000;
const MAX_TURNS = 12;

/**
 * Classifies a conversation for the auto router with a small model.
 *
 * @returns undefined if no model is needed; a promise of undefined if the response was late or invalid. Never rejects:
 *   keywords decide instead
 * @see docs/reference/routers.md#auto
 */
export function findTask(
  pipeline: ResponsePipeline,
  { model, timeoutMs }: Classifier,
  parent: Run,
): Promise<string | undefined> | undefined {
  if (!wantsAuto(parent.request)) return undefined;
  const request = buildRequest(parent);
  if (isPinned(request)) return undefined;
  return requestJson(pipeline, parent, writeQuestion(request, model), timeoutMs).then(readTask, () => undefined);
}

function wantsAuto({ model, models = [] }: RequestSettings): boolean {
  return [model ?? '', ...models].some((slug) => /^router\/auto(?:-beta)?(?::|$)/i.test(slug));
}

/** Whether the conversation itself selects its model. */
const isPinned = (request: ResponseRequest): boolean =>
  findSetting(request, 'auto-router')?.['pin_model'] === true && findPinnedModel(request.input) !== undefined;

function writeQuestion(request: ResponseRequest, model: string): ResponseRequest {
  const schema = {
    type: 'object',
    properties: { task: { type: 'string', enum: tasks } },
    required: ['task'],
    additionalProperties: false,
  };
  return {
    model,
    ...(request.provider ? { provider: keepRestrictions(request.provider) } : undefined),
    instructions: `Say what the last question of this conversation is about. Answer with JSON: {"task": one of ${tasks.join(', ')}}.`,
    input: [{ type: 'message', role: 'user', content: writeTranscript(request) }],
    text: { format: { type: 'json_schema', name: 'task', schema, strict: true } },
    max_output_tokens: 200,
  };
}

/** The turns as truncated texts, and the names of the tools. */
function writeTranscript({ input, instructions, tools = [] }: ResponseRequest): string {
  const names = tools.map((tool) => ('name' in tool && typeof tool.name === 'string' ? tool.name : tool.type));
  const turns = input.flatMap(writeTurn);
  return [
    ...(instructions ? [`instructions: ${instructions.slice(0, MAX_CHARACTERS)}`] : []),
    ...turns.slice(-MAX_TURNS),
    ...(names.length > 0 ? [`tools: ${names.join(', ')}`] : []),
  ].join('\n\n');
}

function writeTurn(item: InputItem): string[] {
  if (item.type !== 'message' || !('role' in item)) return [];
  const { role, content } = item as { role: string; content?: unknown };
  const texts = Array.isArray(content)
    ? (content as { text?: unknown }[]).flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
    : [typeof content === 'string' ? content : ''];
  const text = texts.join('\n').slice(0, MAX_CHARACTERS);
  return text === '' ? [] : [`${role}: ${text}`];
}

function readTask(answer: unknown): string | undefined {
  const { task } = (answer ?? {}) as { task?: unknown };
  return isTask(task) ? task : undefined;
}
