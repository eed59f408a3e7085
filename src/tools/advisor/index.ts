import type { ResponseEvent } from '../../domain/events.ts';
import type { InputItem } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { ResponseObject } from '../../domain/response.ts';
import { checkNames } from '../check-names.ts';
import { checkInnerModel, createInnerSettings, explainEmpty, MESSAGE_GAP, readText } from '../inner-model.ts';
import { defineServerTool, type ServerTool, type ToolCallContext } from '../server-tool.ts';
import { type Consultation, findConsultations, writeConsultations } from './consultations.ts';
import { advisorArguments, advisorParameters, showArguments } from './parameters.ts';
import { writeTranscript } from './write-transcript.ts';

/** Maximum calls of all advisors of a response. choice 457 */
const MAX_CONSULTATIONS = 10;

/** Last message to an advisor if the model sends no prompt. */
const DEFAULT_QUESTION = 'Give your advice on how to continue.';

const description =
  'Consults an advisor, which is another model. Use it for a second opinion, for a plan, or if a problem is too hard. ' +
  'Do not use it for simple questions.';

/** The tool with which a model consults another one. @see docs/reference/tools/advisor.md */
export const advisor: ServerTool = defineServerTool({
  type: 'router:advisor',
  description,
  parameters: advisorParameters,
  arguments: advisorArguments,
  timeoutMs: 300_000,
  isNested: false,
  check: checkInnerModel,
  checkEntries: (entries) =>
    checkNames(
      'router:advisor',
      entries.map(({ name }) => name),
    ),
  show: (parameters) => ({
    description: describe(parameters),
    arguments: showArguments(parameters),
  }),
  item: ({ prompt }) => (prompt === undefined ? {} : { prompt }),
  writeFailure: (error) => ({ status: 'error', error }),
  async execute({ prompt: given, model: asked }, parameters, context) {
    const prompt = given?.trim() === '' ? undefined : given;
    const { earlierCalls, fail, model: outer, request } = context;
    if (earlierCalls >= MAX_CONSULTATIONS) {
      fail(`The limit of ${MAX_CONSULTATIONS} consultations is reached. Continue without the advisor.`);
    }
    const { forward_transcript: seesAll = false, stream = false } = parameters;
    if (prompt === undefined && !seesAll) fail('`prompt` is missing. Write everything that the advisor needs to know.');
    const isStreamed = stream && request.stream === true;
    const settings = createInnerSettings(parameters, parameters.model ?? asked ?? outer, request, outer);
    const input = seesAll ? forward(context, prompt) : remember(context, prompt!); // checked above
    const inner = { ...settings, input, ...(isStreamed && { stream: true }) };
    const response = await context.respond(inner, isStreamed ? streamAdvice(context) : undefined);

    const problem = explainEmpty(response);
    if (problem !== undefined) fail(problem);
    const advice = readText(response);
    if (isStreamed) await endAdvice(context, response);
    if (prompt !== undefined) earlierOf(context).push({ prompt, advice });
    const { model } = response;
    return {
      result: { status: 'ok', model, advice },
      item: { ...(prompt !== undefined && { prompt }), advice, model },
    };
  },
  replay({ prompt, advice, model, error }) {
    const input = typeof prompt === 'string' ? { prompt } : {};
    if (typeof error === 'string') return { arguments: input, result: { status: 'error', error } };
    if (typeof advice !== 'string') return undefined;
    return { arguments: input, result: { status: 'ok', ...(typeof model === 'string' && { model }), advice } };
  },
});

function describe({ name, forward_transcript: seesAll }: { name?: string; forward_transcript?: boolean }): string {
  const which = name === undefined ? '' : ` The name of this advisor is "${name.trim()}".`;
  const sees = seesAll
    ? 'It sees the whole conversation.'
    : 'It sees only the prompt and its earlier consultations, not the conversation.';
  return `${description}${which} ${sees}`;
}

/** The input with the whole conversation. */
function forward({ conversation, request }: ToolCallContext, prompt: string = DEFAULT_QUESTION): InputItem[] {
  const transcript = writeTranscript(conversation(), request.instructions);
  return [...transcript, { type: 'message', role: 'user', content: prompt }];
}

/** The input with the earlier consultations of the same advisor. */
function remember(context: ToolCallContext, prompt: string): InputItem[] {
  const replayed = findConsultations(context.conversation(), 'router_advisor', context.instance);
  const earlier = writeConsultations([...replayed, ...earlierOf(context)]);
  return [...earlier, { type: 'message', role: 'user', content: prompt }];
}

/** The consultations of an advisor in this response. */
function earlierOf({ memory, instance }: ToolCallContext): Consultation[] {
  const key = `consultations ${instance}`;
  memory[key] ??= [];
  return memory[key] as Consultation[]; // set here only
}

/** Shows the advice to the client while it arrives. */
function streamAdvice({ emit }: ToolCallContext): (events: readonly ResponseEvent[]) => MaybePromise<void> {
  let item: unknown;
  return (events) => {
    let delta = '';
    for (const event of events) {
      if (event.type !== 'response.output_text.delta' && event.type !== 'response.refusal.delta') continue;
      const { item_id: id, delta: text } = event as unknown as { item_id: unknown; delta: string };
      if (item !== undefined && item !== id) delta += MESSAGE_GAP;
      item = id;
      delta += text;
    }
    if (delta === '') return undefined;
    return emit([{ type: 'response.output_text.delta', content_index: 0, delta, logprobs: [] }]);
  };
}

const endAdvice = ({ emit }: ToolCallContext, response: ResponseObject): MaybePromise<void> =>
  emit([{ type: 'response.output_text.done', content_index: 0, text: readText(response), logprobs: [] }]);
