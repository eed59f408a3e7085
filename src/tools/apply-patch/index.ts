import type { HostedTool } from '../../domain/items.ts';
import { defineServerTool } from '../server-tool.ts';
import { checkPatch } from './check-patch.ts';
import { applyPatchArguments, applyPatchParameters } from './parameters.ts';
import { patchReplay } from './replay-patches.ts';

/**
 * Lets the model change files of the client. The gateway checks the patch, and the response ends, so that the client
 * applies it. The hosted tool `apply_patch` is the same tool, for endpoints whose provider has none.
 *
 * @see docs/reference/tools/apply-patch.md
 */
export const applyPatch = defineServerTool({
  type: 'router:apply_patch',
  description:
    'Creates, updates or deletes one file of the user with a patch. The user applies it and reports the result. Call it ' +
    'once for each file.',
  parameters: applyPatchParameters,
  arguments: applyPatchArguments,
  checkCall: ({ operation }) => checkPatch(operation),
  // The diff comes in the events of the item.
  item: ({ operation }) => ({ operation: operation.diff === undefined ? operation : { ...operation, diff: '' } }),
  async execute({ operation }, _parameters, { emit }) {
    const { diff } = operation;
    if (diff !== undefined) {
      const event = 'response.apply_patch_call_operation_diff';
      await emit([
        { type: `${event}.delta`, delta: diff },
        { type: `${event}.done`, diff },
      ]);
    }
    return { result: { status: 'completed' }, item: { operation }, endsResponse: true };
  },
  replay: () => undefined, // `hosted.replay` does it, because the client sends the result
  native: (_parameters, { carries }, hosted) =>
    hosted && carries?.({ what: 'tool', type: hosted.type }) === true ? hosted : undefined,
  hosted: {
    types: new Set<HostedTool['type']>(['apply_patch']),
    itemType: 'apply_patch_call',
    itemPrefix: 'apc_',
    progress: { started: [], completed: [] },
    replay: patchReplay,
    readParameters: () => ({}),
  },
});
