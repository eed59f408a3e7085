import type { Tool } from '../../domain/items.ts';
import { checkNames } from '../check-names.ts';
import { checkInnerModel, createInnerSettings, explainEmpty, readText } from '../inner-model.ts';
import { defineServerTool, type ServerTool } from '../server-tool.ts';
import { checkInnerTools, type FindTool } from '../check-inner-tools.ts';
import { subagentArguments, subagentParameters } from './parameters.ts';

/** Maximum tasks of all subagents of a response. choice 457 */
const MAX_TASKS = 10;

/** Default of `max_tool_calls`, and its maximum. */
const MAX_TOOL_CALLS = 25;

const description =
  'Gives a task to a subagent, another model that works on its own and returns the outcome. Use it for tasks that can ' +
  'be described completely. It does not see the conversation and remembers no earlier task.';

/** Creates the tool with which a model gives a task to another one. @see docs/reference/tools/subagent.md */
export const createSubagent = (findTool: FindTool): ServerTool =>
  defineServerTool({
    type: 'router:subagent',
    description,
    parameters: subagentParameters,
    arguments: subagentArguments,
    timeoutMs: 600_000,
    canFail: true,
    isNested: false,
    check: (parameters) => [...checkInnerModel(parameters), ...checkInnerTools(parameters.tools ?? [], findTool)],
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
    async execute({ task_name, task_description }, parameters, { earlierCalls, fail, model: outer, request, respond }) {
      if (earlierCalls >= MAX_TASKS) {
        fail(`The limit of ${MAX_TASKS} tasks is reached. Go on without the subagent.`);
      }
      if (task_description.trim() === '') fail('`task_description` is empty. Describe the task.');
      const { name, tools = [], max_tool_calls: maxCalls = MAX_TOOL_CALLS } = parameters;
      const response = await respond({
        ...createInnerSettings(parameters, parameters.model ?? outer, request),
        input: [{ type: 'message', role: 'user', content: task_description }],
        ...(tools.length > 0 && { tools: tools as Tool[], max_tool_calls: maxCalls }),
      });
      const problem = explainEmpty(response);
      if (problem !== undefined) fail(problem);
      const { model } = response;
      const outcome = readText(response);
      return {
        result: { status: 'ok', model, task_name, outcome },
        item: { task_name, task_description, outcome, model, ...(name !== undefined && { name: name.trim() }) },
      };
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
