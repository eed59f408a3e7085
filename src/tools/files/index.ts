import type { Static } from 'typebox';
import { GatewayError } from '../../domain/errors.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { defineServerTool, type ItemFields, type ServerTool, type ToolCallContext, ToolError } from '../server-tool.ts';
import { filesArguments } from './parameters.ts';
import { runFileOperation } from './run-operation.ts';
import type { WorkspaceFiles } from '../workspace-files.ts';

/**
 * Maximum length of the arguments of a call as JSON. The item has them as a text, which may double them, and must stay
 * below the limit of a result: otherwise a file would be written and the call would fail.
 */
const MAX_ARGUMENTS = 500_000;

type Arguments = Static<typeof filesArguments>;

/** Creates the tool that works on the stored files of a workspace. @see docs/reference/tools/files.md */
export const createFiles = (files: WorkspaceFiles): ServerTool =>
  defineServerTool({
    type: 'router:files',
    description:
      'Lists, reads, writes and edits the stored text files of the workspace. Files stay after the conversation. Use it ' +
      'for files that the user mentions, and to store results that the user wants to keep. Do not use it for files of ' +
      'other places, such as a repository or a website. A file never changes: write and edit create a new one.',
    arguments: filesArguments,
    item: (input) => describe(input),
    async execute(input, _parameters, context) {
      const { callId } = context;
      const written = JSON.stringify(input);
      const about = { call_id: callId, arguments: written.length > MAX_ARGUMENTS ? '{}' : written };
      try {
        if (written.length > MAX_ARGUMENTS) {
          throw new ToolError(`The call has more than ${MAX_ARGUMENTS} characters. Write a shorter file.`);
        }
        return await run(files, input, context, about);
      } catch (error) {
        if (!(error instanceof ToolError || error instanceof GatewayError)) throw error;
        return { result: { error: error.message }, item: { ...describe(input), ...about, error: error.message } };
      }
    },
    replay(item) {
      const { operation, file_id, filename, error } = item;
      const input = (typeof item['arguments'] === 'string' && parseObject(item['arguments'])) || {
        ...(typeof operation === 'string' && { operation }),
        ...(typeof file_id === 'string' && { file_id }),
        ...(typeof filename === 'string' && { filename }),
      };
      if (typeof error === 'string') return { arguments: input, result: { error } };
      if (typeof item['result'] !== 'string') return undefined;
      return { arguments: input, result: { result: parseObject(item['result']) ?? item['result'] } };
    },
  });

async function run(files: WorkspaceFiles, input: Arguments, { caller }: ToolCallContext, about: ItemFields) {
  const { result, file } = await runFileOperation(files, caller, input);
  const found = file && { file_id: file.id, filename: file.filename };
  return { result: { result }, item: { ...describe(input), ...found, ...about, result: JSON.stringify(result) } };
}

const describe = ({ operation, file_id, filename }: Arguments): ItemFields => ({
  operation,
  ...(file_id !== undefined && { file_id }),
  ...(filename !== undefined && { filename }),
});
