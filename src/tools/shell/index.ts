import type { Static } from 'typebox';
import type { HostedTool, Tool } from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { checkContainerUse } from '../container-calls/check-use.ts';
import { describeSystem } from '../container-calls/describe-system.ts';
import { checkEnvironment, listIgnored } from '../container-calls/environment.ts';
import { failCall } from '../container-calls/fail-call.ts';
import { needsGateway, readHostedEnvironment } from '../container-calls/hosted-environment.ts';
import {
  clampOutput,
  clampTimeout,
  MAX_COMMANDS,
  MAX_ITEM_BYTES,
  runCommands,
} from '../container-calls/run-commands.ts';
import { findContainerId, inOrder, runInContainer } from '../container-calls/run-in-container.ts';
import type { Containers } from '../containers.ts';
import {
  defineServerTool,
  type ItemFields,
  type ServerTool,
  type ToolCallContext,
  type ToolOutcome,
} from '../server-tool.ts';
import { shellArguments, shellParameters } from './parameters.ts';
import { shellReplay } from './replay-shell.ts';

type Arguments = Static<typeof shellArguments>;
type Parameters = Static<typeof shellParameters>;

const purpose =
  'Runs shell commands in a container and returns their output. Use it to compute, to process data and to create ' +
  'files. Files in the home folder stay for later calls.';

/**
 * Lets the model run shell commands in a container. The hosted tools `shell` and `local_shell` are the same tool, for
 * endpoints whose provider has none.
 *
 * @see docs/reference/tools/shell.md
 */
export const createShell = (containers: Containers): ServerTool =>
  defineServerTool({
    type: 'router:shell',
    description: purpose,
    parameters: shellParameters,
    arguments: shellArguments,
    timeoutMs: MAX_COMMANDS * clampTimeout(Infinity) + 60_000,
    maxItemBytes: MAX_ITEM_BYTES,
    show: ({ environment }) => ({ description: `${purpose} ${describeSystem(containers, environment)}` }),
    check: (parameters) => checkEnvironment(parameters),
    prepare: (parameters, context) => checkContainerUse(containers, 'shell', parameters.environment, context),
    item: (input) => ({ action: writeAction(input) }),
    execute: (input, parameters, context) => inOrder(context, () => execute(containers, input, parameters, context)),
    replay(item) {
      const input = parseObject(String(item['arguments'] ?? '')) ?? (item['action'] as Record<string, unknown>);
      if (!input) return undefined;
      if (typeof item['error'] === 'string') return { arguments: input, result: { error: item['error'] } };
      return Array.isArray(item['output']) ? { arguments: input, result: { output: item['output'] } } : undefined;
    },
    native({ engine, environment }, { carries }, hosted): Tool | undefined {
      if (engine === 'router' && !hosted) return undefined;
      if (needsGateway(environment)) return undefined;
      if (hosted) return carries?.({ what: 'tool', type: hosted.type }) === true ? hosted : undefined;
      if (carries?.({ what: 'hosted_shell', type: 'shell' }) !== true) return undefined;
      const policy = environment?.network_policy;
      return { type: 'shell', environment: { type: 'container_auto', ...(policy && { network_policy: policy }) } };
    },
    hosted: {
      types: new Set<HostedTool['type']>(['shell', 'local_shell']),
      itemType: 'shell_call',
      itemPrefix: 'shc_',
      progress: { started: [], completed: [] },
      replay: shellReplay,
      readParameters({ environment: given }) {
        if (containers.problem !== undefined) return undefined; // the request fails early
        const environment = readHostedEnvironment(withoutMemoryLimit(given));
        return environment && { engine: 'router', ...environment };
      },
      writeFields: ({ action }) => ({
        action: { timeout_ms: null, max_output_length: null, ...(action as object) },
        environment: null, // newer clients require the field
      }),
      output: {
        itemType: 'shell_call_output',
        itemPrefix: 'sho_',
        writeFields: ({ action, output, ...fields }) => ({
          output: output ?? [],
          max_output_length: (action as { max_output_length?: number }).max_output_length ?? null,
          ...fields,
        }),
      },
    },
  });

/** The configuration sets the memory of a container. Choice 580. */
function withoutMemoryLimit(environment: unknown): unknown {
  if (typeof environment !== 'object' || environment === null) return environment;
  const { memory_limit: _, ...rest } = environment as Record<string, unknown>;
  return rest;
}

async function execute(
  containers: Containers,
  input: Arguments,
  parameters: Parameters,
  context: ToolCallContext,
): Promise<ToolOutcome> {
  const { environment } = parameters;
  const { commands } = input;
  const timeoutMs = clampTimeout(input.timeout_ms);
  const id = findContainerId(context, environment);
  const item = { action: writeAction(input), container_id: id };
  try {
    const call = { compute: 'shell', environment, maxMs: timeoutMs * commands.length } as const;
    const { output, files } = await runInContainer(containers, context, call, id, (container) =>
      runCommands(container, context, { commands, timeoutMs, maxOutputLength: clampOutput(input.max_output_length) }),
    );
    return {
      result: { output },
      item: { ...item, output, ...(files.length > 0 && { files }) },
      adjustments: listIgnored(parameters),
    };
  } catch (error) {
    return failCall(error, item, context);
  }
}

const writeAction = ({ commands, timeout_ms, max_output_length }: Arguments): ItemFields => ({
  commands,
  ...(timeout_ms !== undefined && { timeout_ms }),
  ...(max_output_length !== undefined && { max_output_length }),
});
