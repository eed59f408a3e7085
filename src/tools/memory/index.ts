import type { Static } from 'typebox';
import type { Caller } from '../../domain/caller.ts';
import { GatewayError } from '../../domain/errors.ts';
import { defineServerTool, type ServerTool, ToolError } from '../server-tool.ts';
import type { WorkspaceFiles } from '../workspace-files.ts';
import { deleteValue, listMemoryKeys, readValue, writeValue } from './memory-files.ts';
import { memoryArguments } from './parameters.ts';

type Arguments = Static<typeof memoryArguments>;

/** Creates the tool that keeps values between conversations. @see docs/reference/tools/memory.md */
export const createMemory = (files: WorkspaceFiles): ServerTool =>
  defineServerTool({
    type: 'router:memory',
    description:
      'Keeps short texts under keys between conversations. Everyone in the workspace shares them, and an agent has its own. Use it for facts and ' +
      'preferences that the user wants you to remember. Do not use it for secrets, or for facts of this conversation alone.',
    arguments: memoryArguments,
    item: (input) => input,
    async execute(input, _parameters, { caller }) {
      try {
        const result = await run(files, caller, input);
        return { result, item: { ...input, ...result } };
      } catch (error) {
        if (!(error instanceof ToolError || error instanceof GatewayError)) throw error;
        return { result: { error: error.message }, item: { ...input, error: error.message } };
      }
    },
    replay({ action, key, value, keys, error }) {
      if (typeof action !== 'string') return undefined;
      const input = { action, ...(key !== undefined && { key }), ...(action === 'write' && { value }) };
      if (typeof error === 'string') return { arguments: input, result: { error } };
      if (keys !== undefined) return { arguments: input, result: { keys } };
      return { arguments: input, result: action === 'read' ? { key, value } : { key } };
    },
  });

async function run(files: WorkspaceFiles, caller: Caller, input: Arguments): Promise<Record<string, unknown>> {
  const { action, key, value } = input;
  if (key === undefined) {
    if (action === 'read') return { keys: await listMemoryKeys(files, caller) };
    throw new ToolError(`The action ${action} needs a key.`);
  }
  switch (action) {
    case 'read':
      return { key, value: await readValue(files, caller, key) };
    case 'write':
      if (value === undefined) throw new ToolError('The action write needs a value.');
      await writeValue(files, caller, key, value);
      return { key };
    case 'delete':
      await deleteValue(files, caller, key);
      return { key };
  }
}
