import type { Static } from 'typebox';
import { parseObject } from '../../domain/parse-object.ts';
import { checkContainerUse } from '../container-calls/check-use.ts';
import { describeSystem } from '../container-calls/describe-system.ts';
import { checkEnvironment, listIgnored } from '../container-calls/environment.ts';
import { failCall } from '../container-calls/fail-call.ts';
import { findContainerId, inOrder, runInContainer } from '../container-calls/run-in-container.ts';
import type { Containers } from '../containers.ts';
import { defineServerTool, type ServerTool, type ToolCallContext, type ToolOutcome } from '../server-tool.ts';
import { textEditorArguments, textEditorParameters } from './parameters.ts';
import { readHomePath } from './read-path.ts';
import { LIST_MS, runEdit } from './run-edit.ts';

type Arguments = Static<typeof textEditorArguments>;
type Parameters = Static<typeof textEditorParameters>;

const purpose =
  'Views and edits text files in the home folder of a container. Use it to write programs and texts, and to change a ' +
  'part of a file. The other tools of the container see the same files.';

/**
 * Lets the model edit text files of a container.
 *
 * @see docs/reference/tools/text-editor.md
 */
export const createTextEditor = (containers: Containers): ServerTool =>
  defineServerTool({
    type: 'router:text_editor',
    description: purpose,
    parameters: textEditorParameters,
    arguments: textEditorArguments,
    timeoutMs: 300_000,
    show: ({ environment }) =>
      containers.kind === 'simulation' ? { description: `${purpose} ${describeSystem(containers, environment)}` } : {},
    check: (parameters) => checkEnvironment(parameters),
    prepare: (parameters, context) => checkContainerUse(containers, 'editor', parameters.environment, context),
    checkCall,
    item: ({ command, path }) => ({ command, filePath: path }),
    execute: (input, parameters, context) => inOrder(context, () => execute(containers, input, parameters, context)),
    replay({ command, filePath, result, error, arguments: written }) {
      const input =
        parseObject(String(written ?? '')) ?? (typeof command === 'string' ? { command, path: filePath } : undefined);
      if (!input) return undefined;
      if (typeof error === 'string') return { arguments: input, result: { error } };
      return typeof result === 'string' ? { arguments: input, result: { result } } : undefined;
    },
  });

function checkCall({ command, file_text, old_str, insert_line, insert_text }: Arguments): string | undefined {
  if (command === 'create' && file_text === undefined) return 'create needs `file_text`.';
  if (command === 'str_replace' && old_str === undefined) return 'str_replace needs `old_str`.';
  const isComplete = insert_line !== undefined && insert_text !== undefined;
  return command === 'insert' && !isComplete ? 'insert needs `insert_line` and `insert_text`.' : undefined;
}

async function execute(
  containers: Containers,
  input: Arguments,
  parameters: Parameters,
  context: ToolCallContext,
): Promise<ToolOutcome> {
  const { environment } = parameters;
  const id = findContainerId(context, environment);
  const item = { command: input.command, filePath: input.path, container_id: id };
  try {
    const path = readHomePath(input.path);
    const call = { compute: 'editor', environment, maxMs: LIST_MS } as const;
    const { result, file } = await runInContainer(containers, context, call, id, (container) =>
      runEdit(container, input, path, context),
    );
    return {
      result: { result },
      item: { ...item, result, ...(file && { files: [file] }) },
      adjustments: listIgnored(parameters),
    };
  } catch (error) {
    return failCall(error, item, context);
  }
}
