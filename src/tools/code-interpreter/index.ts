import type { Static } from 'typebox';
import type { HostedTool, OutputItem } from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { checkContainerUse } from '../container-calls/check-use.ts';
import { describeSystem } from '../container-calls/describe-system.ts';
import { checkEnvironment, listIgnored } from '../container-calls/environment.ts';
import { failCall } from '../container-calls/fail-call.ts';
import { needsGateway } from '../container-calls/hosted-environment.ts';
import { clampOutput, clampTimeout, MAX_ITEM_BYTES, runCommands } from '../container-calls/run-commands.ts';
import { findContainerId, inOrder, runInContainer } from '../container-calls/run-in-container.ts';
import type { ContainerFileCitation, Containers } from '../containers.ts';
import {
  defineServerTool,
  type ItemFields,
  type ReplayedCall,
  type ServerTool,
  type ToolCallContext,
  type ToolOutcome,
} from '../server-tool.ts';
import { codeInterpreterArguments, codeInterpreterParameters } from './parameters.ts';
import { readHostedContainer } from './read-hosted-container.ts';
import { writeProgramCommand } from './write-command.ts';

type Arguments = Static<typeof codeInterpreterArguments>;
type Parameters = Static<typeof codeInterpreterParameters>;

/** Parameters of the hosted tool. */
type HostedParameters = Parameters & {
  /** It has no effect. */
  memory_limit?: unknown;
};

const purpose =
  'Runs a Python or JavaScript program in a container and returns its output. Use it to compute, to process data and to ' +
  'create files. Each program runs in a new process, in the home folder: files stay for later calls, variables do not.';

/** The value of `include` that requests the outputs of the hosted tool. */
const OUTPUTS = 'code_interpreter_call.outputs';

/** Exit code of a program that was interrupted. The command `timeout` has the same. */
const TIMEOUT_EXIT_CODE = 124;

const TYPE = 'router:code_interpreter';

/** Matches an id that the gateway created. */
const ownId = /^ci_[0-9A-Za-z]{24}$/;

/**
 * Lets the model run programs in a container. The hosted tool `code_interpreter` is the same tool, for endpoints whose
 * provider has none.
 *
 * @see docs/reference/tools/code-interpreter.md
 */
export const createCodeInterpreter = (containers: Containers): ServerTool =>
  defineServerTool({
    type: TYPE,
    description: purpose,
    parameters: codeInterpreterParameters,
    arguments: codeInterpreterArguments,
    timeoutMs: clampTimeout(undefined) * 10, // calls of a turn run one after another
    maxItemBytes: MAX_ITEM_BYTES,
    show: ({ environment }) => ({ description: `${purpose} ${describeSystem(containers, environment)}` }),
    check: (parameters) => checkEnvironment(parameters),
    prepare: (parameters, context) => checkContainerUse(containers, 'code', parameters.environment, context),
    item: (input) => describeProgram(input),
    execute: (input, parameters, context) => inOrder(context, () => execute(containers, input, parameters, context)),
    replay: replayProgram,
    native({ environment }, { carries }, hosted) {
      if (!hosted || needsGateway(environment)) return undefined;
      return carries?.({ what: 'tool', type: hosted.type }) === true ? hosted : undefined;
    },
    hosted: {
      types: new Set<HostedTool['type']>(['code_interpreter']),
      itemType: 'code_interpreter_call',
      itemPrefix: 'ci_',
      progress: { started: ['in_progress'], completed: ['completed'] },
      replay: {
        types: new Map([['code_interpreter_call', undefined]]),
        fields: new Set(['code', 'outputs', 'error', 'arguments', 'container_id']),
        isOwn: ({ id }) => typeof id === 'string' && ownId.test(id),
        read: replayProgram,
      },
      readParameters: ({ container }) =>
        containers.problem === undefined ? readHostedContainer(container) : undefined,
      writeStart: ({ code }) => [
        { type: 'response.code_interpreter_call_code.delta', delta: code },
        { type: 'response.code_interpreter_call_code.done', code },
        { type: 'response.code_interpreter_call.interpreting' },
      ],
      writeFields: ({ code, container_id, outputs, error }) => ({
        code,
        outputs: outputs ?? null,
        ...(container_id !== undefined && { container_id }),
        ...(error !== undefined && { error }),
      }),
    },
  });

/** Reads the items of both tools. The hosted one has outputs only if the request included them. */
function replayProgram(item: OutputItem): ReplayedCall | undefined {
  const { type, code, language, outputs, stdout, stderr, exitCode, error, status = 'completed' } = item;
  const input =
    parseObject(String(item['arguments'] ?? '')) ??
    (typeof code === 'string' ? { code, ...(typeof language === 'string' && { language }) } : undefined);
  if (!input) return undefined;
  if (typeof error === 'string') return { arguments: input, result: { error } };
  if (type !== TYPE) return { arguments: input, result: Array.isArray(outputs) ? { outputs } : { status } };
  if (typeof stdout !== 'string' && typeof stderr !== 'string') return undefined;
  return { arguments: input, result: { stdout, stderr, exitCode } };
}

async function execute(
  containers: Containers,
  input: Arguments,
  parameters: Parameters,
  context: ToolCallContext,
): Promise<ToolOutcome> {
  const { environment } = parameters;
  const id = findContainerId(context, environment);
  const item = { ...describeProgram(input), container_id: id };
  const timeoutMs = clampTimeout(undefined);
  try {
    const { command, environment: variables } = writeProgramCommand(input.code, input.language ?? 'python');
    const call = { compute: 'code', environment, maxMs: timeoutMs } as const;
    const { output, files } = await runInContainer(containers, context, call, id, (container) =>
      runCommands(container, context, {
        commands: [command],
        timeoutMs,
        maxOutputLength: clampOutput(undefined),
        environment: variables,
      }),
    );
    const { stdout, stderr, outcome } = output[0]!; // of the only command
    const isTimeout = outcome.type === 'timeout';
    const end = {
      stdout,
      stderr: isTimeout ? `${stderr}\nThe program did not end within ${timeoutMs} ms.`.trimStart() : stderr,
      exitCode: isTimeout ? TIMEOUT_EXIT_CODE : outcome.exit_code,
    };
    const isShown = context.request.include?.includes(OUTPUTS) === true;
    const named = files.length > 0;
    return {
      result: { ...end, ...(named && { files: files.map(({ filename }) => filename) }) },
      item: { ...item, ...end, ...(named && { files }), ...(isShown && { outputs: listOutputs(end, files) }) },
      adjustments: [
        ...listIgnored(parameters),
        ...((parameters as HostedParameters).memory_limit === undefined ? [] : ['container.memory_limit']),
      ],
    };
  } catch (error) {
    return failCall(error, item, context);
  }
}

const describeProgram = ({ code, language = 'python' }: Arguments): ItemFields => ({ code, language });

/** Writes the outputs of the hosted tool. */
function listOutputs(
  { stdout, stderr }: { stdout: string; stderr: string },
  files: readonly ContainerFileCitation[],
): object[] {
  const logs = [stdout, stderr].filter((text) => text !== '').join('\n');
  return [
    ...(logs === '' ? [] : [{ type: 'logs', logs }]),
    ...files.map(({ file_id: id, filename }) => ({ type: 'file', id, filename })),
  ];
}
