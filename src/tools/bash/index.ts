import type { Static } from 'typebox';
import { parseObject } from '../../domain/parse-object.ts';
import { checkContainerUse } from '../container-calls/check-use.ts';
import { describeSystem } from '../container-calls/describe-system.ts';
import { checkEnvironment, listIgnored } from '../container-calls/environment.ts';
import { failCall } from '../container-calls/fail-call.ts';
import {
  clampOutput,
  clampTimeout,
  type CommandOutput,
  MAX_ITEM_BYTES,
  runCommands,
} from '../container-calls/run-commands.ts';
import { findContainerId, inOrder, restartContainer, runInContainer } from '../container-calls/run-in-container.ts';
import type { Containers } from '../containers.ts';
import { defineServerTool, type ServerTool, type ToolCallContext, type ToolOutcome } from '../server-tool.ts';
import { bashArguments, bashParameters } from './parameters.ts';

type Arguments = Static<typeof bashArguments>;
type Parameters = Static<typeof bashParameters>;

const purpose =
  'Runs bash commands and returns their output. Use it to compute, to process data and to create files. Each command ' +
  'starts in the home folder, whose files stay for later calls.';

/** Exit code of a command that was interrupted. The program `timeout` has the same. */
const TIMEOUT_EXIT_CODE = 124;

/** Maximum characters of the commands that the model reads again. */
const MAX_SHOWN_COMMAND = 100_000;

/**
 * Lets the model run bash commands: at the client, or with the engine `router` in a container.
 *
 * @see docs/reference/tools/bash.md
 */
export const createBash = (containers: Containers): ServerTool =>
  defineServerTool({
    type: 'router:bash',
    description: purpose,
    parameters: bashParameters,
    arguments: bashArguments,
    timeoutMs: clampTimeout(Infinity) * 10, // calls of a turn run one after another
    maxItemBytes: MAX_ITEM_BYTES,
    clientName: ({ engine }) => (engine === 'router' ? undefined : 'bash'),
    show: ({ environment, engine }) =>
      engine === 'router' ? { description: `${purpose} ${describeSystem(containers, environment)}` } : {},
    check: (parameters) => checkEnvironment(parameters),
    checkCall: (input) =>
      listCommands(input).length === 0 && input.restart !== true ? '`command` is required.' : undefined,
    prepare: (parameters, context) => checkContainerUse(containers, 'bash', parameters.environment, context),
    item: (input) => ({ command: joinCommands(input) }),
    execute: (input, parameters, context) => inOrder(context, () => execute(containers, input, parameters, context)),
    replay({ command, stdout, stderr, exitCode, error, arguments: written }) {
      const input = parseObject(String(written ?? '')) ?? (typeof command === 'string' ? { command } : undefined);
      if (!input) return undefined;
      if (typeof error === 'string') return { arguments: input, result: { error } };
      if (typeof stdout !== 'string' && typeof stderr !== 'string') return undefined;
      return { arguments: input, result: { command, stdout, stderr, exitCode } };
    },
  });

async function execute(
  containers: Containers,
  input: Arguments,
  parameters: Parameters,
  context: ToolCallContext,
): Promise<ToolOutcome> {
  const { environment } = parameters;
  const id = input.restart === true ? restartContainer(context, environment) : findContainerId(context, environment);
  const command = joinCommands(input);
  const item = { command, container_id: id };
  const adjustments = listIgnored(parameters);
  const commands = listCommands(input);
  try {
    const timeoutMs = clampTimeout(input.timeout_ms);
    const call = { compute: 'bash', environment, maxMs: timeoutMs } as const;
    const { output, files } = await runInContainer(containers, context, call, id, (container) =>
      runCommands(container, context, {
        commands,
        timeoutMs,
        isTotal: true,
        maxOutputLength: clampOutput(input.max_output_length),
      }),
    );
    const end = joinOutputs(output, commands.length, timeoutMs, input.restart === true);
    return {
      result: { command: command.slice(0, MAX_SHOWN_COMMAND), ...end },
      item: { ...item, ...end, ...(files.length > 0 && { files }) },
      adjustments,
    };
  } catch (error) {
    return failCall(error, item, context);
  }
}

const listCommands = ({ command, commands = [] }: Arguments): readonly string[] =>
  command === undefined ? commands : [command, ...commands];

const joinCommands = (input: Arguments): string => listCommands(input).join('\n');

/** Joins the outputs of commands. The exit code is that of the last command that failed. choice 518 */
function joinOutputs(output: readonly CommandOutput[], count: number, timeoutMs: number, isRestarted: boolean) {
  const notes: string[] = [];
  const isTimeout = output.length < count || output.some(({ outcome }) => outcome.type === 'timeout');
  if (isTimeout) notes.push(`The commands did not end within ${timeoutMs} ms.`);
  if (output.length < count) notes.push(`${count - output.length} of ${count} commands did not run.`);
  const codes = output.map(({ outcome }) => (outcome.type === 'exit' ? outcome.exit_code : TIMEOUT_EXIT_CODE));
  const isBare = count === 0 && isRestarted;
  return {
    stdout: isBare ? 'The container was restarted.' : joinTexts(output.map(({ stdout }) => stdout)),
    stderr: joinTexts([...output.map(({ stderr }) => stderr), ...notes]),
    exitCode: isTimeout ? TIMEOUT_EXIT_CODE : (codes.findLast((code) => code !== 0) ?? 0),
  };
}

/** Joins texts so that each one begins a line. */
const joinTexts = (texts: readonly string[]): string =>
  texts.reduce((joined, text) => {
    if (text === '') return joined;
    return joined === '' || joined.endsWith('\n') ? joined + text : `${joined}\n${text}`;
  }, '');
