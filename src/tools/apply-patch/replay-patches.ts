import type { InputItem, OutputItem } from '../../domain/items.ts';
import { type HostedReplay, missingResult } from '../server-tool.ts';

/** Matches an id that the gateway created. */
const ownId = /^apc_[0-9A-Za-z]{24}$/;

/** Reads patches of both tools, and what the client has made of them. */
export const patchReplay: HostedReplay = {
  types: new Map([
    ['router:apply_patch', 'apply_patch_call_output'],
    ['apply_patch_call', 'apply_patch_call_output'],
  ]),
  fields: new Set(['operation', 'arguments', 'output']),
  isOwn: ({ type, id }) => type === 'router:apply_patch' || (typeof id === 'string' && ownId.test(id)),
  read(call, output) {
    const { operation } = call;
    if (typeof operation !== 'object' || operation === null) return undefined;
    return { arguments: { operation }, result: output ? readOutput(output) : missingResult };
  },
  /** The provider knows only ids of its own. An item of the gateway has `arguments`. */
  writeNative({ arguments: given, id, ...rest }) {
    const kept = given === undefined && id !== undefined ? { id } : undefined;
    return { ...rest, ...kept, type: 'apply_patch_call' } as InputItem; // a carried item
  },
};

const readOutput = ({ status, output }: OutputItem) => ({ status, ...(typeof output === 'string' && { output }) });
