import type { Static } from 'typebox';
import type { InputItem, Tool } from '../../domain/items.ts';
import { checkNames } from '../check-names.ts';
import { checkInnerModel, createInnerSettings, explainEmpty, readText } from '../inner-model.ts';
import { checkInnerTools, type FindTool } from '../check-inner-tools.ts';
import { defineServerTool, type ServerTool, type ToolCallContext, type ToolOutcome } from '../server-tool.ts';
import { inheritFunctions } from './inherit-functions.ts';
import { subagentArguments, subagentParameters } from './parameters.ts';
import { openTranscript, type SignText, signTranscript } from './sign-transcript.ts';
import { countServerCalls, findAwaited, readTranscript } from './rounds.ts';

/** Maximum tasks of all subagents of a response. choice 457 */
const MAX_TASKS = 10;

/** Default of `max_tool_calls`, and its maximum. */
const MAX_TOOL_CALLS = 25;

const description =
  'Gives a task to a subagent, another model that works on its own and returns the outcome. Use it for tasks that can ' +
  'be described completely. It does not see the conversation and remembers no earlier task.';

export interface SubagentPorts {
  /** Finds any server tool of the gateway, those of operators included. */
  findTool: FindTool;
  /** Whether items have the shapes that a request can have. */
  isInput(items: readonly unknown[]): items is InputItem[];
  /** Signs the transcripts that callers keep. */
  sign: SignText;
}

/** Creates the tool with which a model gives a task to another one. @see docs/reference/tools/subagent.md */
export const createSubagent = ({ findTool, isInput, sign }: SubagentPorts): ServerTool =>
  defineServerTool({
    type: 'router:subagent',
    description,
    parameters: subagentParameters,
    arguments: subagentArguments,
    timeoutMs: 600_000,
    isNested: false,
    check: (parameters, caller) => [
      ...checkInnerModel(parameters),
      ...checkInnerTools(parameters.tools ?? [], findTool, caller),
    ],
    checkEntries: (entries) =>
      checkNames(
        'router:subagent',
        entries.map(({ name }) => name),
      ),
    show: ({ name }) =>
      name === undefined ? {} : { description: `${description} The name of this subagent is "${name.trim()}".` },
    item: ({ task_name, task_description }, { name }) => ({
      task_name,
      task_description,
      ...(name !== undefined && { name: name.trim() }),
    }),
    writeFailure: (error, { task_name }) => ({ status: 'error', task_name, error }),
    execute: (input, parameters, context) => work(input, parameters, context, [], sign),
    resume(input, resumed, parameters, context) {
      const opened = openTranscript(sign, nameOwner(context), resumed.transcript) ?? [];
      const before = readTranscript({ ...resumed, transcript: opened }, isInput);
      return typeof before === 'string' ? context.fail(before) : work(input, parameters, context, before, sign);
    },
    replay({ task_name, task_description, outcome, model, error }) {
      if (typeof task_name !== 'string') return undefined;
      const input = { task_name, ...(typeof task_description === 'string' && { task_description }) };
      if (typeof error === 'string') return { arguments: input, result: { status: 'error', task_name, error } };
      if (typeof outcome !== 'string') return undefined;
      return {
        arguments: input,
        result: { status: 'ok', ...(typeof model === 'string' && { model }), task_name, outcome },
      };
    },
  });

const nameOwner = ({ caller: { workspaceId }, callId }: ToolCallContext) => ({ workspaceId, callId });

/**
 * Works on a task until it ends, or until the subagent waits for functions of the caller.
 *
 * @param before the conversation of the earlier rounds, without the task
 */
async function work(
  { task_name, task_description }: Static<typeof subagentArguments>,
  parameters: Static<typeof subagentParameters>,
  context: ToolCallContext,
  before: readonly InputItem[],
  sign: SignText,
): Promise<ToolOutcome> {
  const { earlierCalls, fail, model: outer, request, conversation } = context;
  if (earlierCalls >= MAX_TASKS) fail(`The limit of ${MAX_TASKS} tasks is reached. Continue without the subagent.`);
  if (task_description.trim() === '') fail('`task_description` is empty. Describe the task.');
  const { name, tools = [], max_tool_calls: maxCalls = MAX_TOOL_CALLS } = parameters;
  const functions = inheritFunctions(parameters, request.tools ?? [], conversation());
  const all = [...(tools as Tool[]), ...functions]; // their shapes are checked
  const response = await context.respond({
    ...createInnerSettings(parameters, parameters.model ?? outer, request, outer),
    input: [{ type: 'message', role: 'user', content: task_description }, ...before],
    ...(all.length > 0 && { tools: all }),
    ...(tools.length > 0 && { max_tool_calls: Math.max(0, maxCalls - countServerCalls(before)) }),
  });
  const suspension = functions.length > 0 ? findAwaited(response, before) : undefined;
  if (suspension) {
    const transcript = signTranscript(sign, nameOwner(context), suspension.transcript);
    return { result: {}, item: {}, suspension: { ...suspension, transcript } };
  }
  const problem = explainEmpty(response);
  if (problem !== undefined) fail(problem);
  const { model } = response;
  const outcome = readText(response);
  return {
    result: { status: 'ok', model, task_name, outcome },
    item: { task_name, task_description, outcome, model, ...(name !== undefined && { name: name.trim() }) },
  };
}
