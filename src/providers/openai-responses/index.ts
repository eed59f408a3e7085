import { isNativePart } from '../../domain/native.ts';
import { defineTextWire } from '../text-wire.ts';
import type { Wire } from '../wire.ts';
import { responsesCount } from './count.ts';
import { countWhole, createReader, readWhole } from './chunks.ts';
import { readDialect } from './dialect.ts';
import { readUpstreamError as readError } from '../errors/upstream-error.ts';
import { writeRequest } from './request.ts';
import { listAbilities, listLacking } from './tools.ts';

/** Items of tools that a server may lack → the setting of the dialect. */
const itemSettings = new Map<
  string,
  'native_code_interpreter' | 'native_compaction' | 'native_patches' | 'native_search' | 'native_shell'
>([
  ['shell_call', 'native_shell'],
  ['shell_call_output', 'native_shell'],
  ['local_shell_call', 'native_shell'],
  ['local_shell_call_output', 'native_shell'],
  ['apply_patch_call', 'native_patches'],
  ['apply_patch_call_output', 'native_patches'],
  ['code_interpreter_call', 'native_code_interpreter'],
  ['web_search_call', 'native_search'],
  ['compaction_trigger', 'native_compaction'],
]);

/** `POST {base_url}/responses`: the format of the interface itself, at OpenAI, Azure, xAI, LM Studio, vLLM and others. */
export const openaiResponses = {
  id: 'openai-responses',
  reachesGateways: true,
  checkDialect: readDialect,
  authorize: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  readError,
  text: defineTextWire({
    probePath: '/responses',
    carries({ what, type }, dialect) {
      if (isNativePart({ type })) return false; // of another format
      if (what === 'native_search' && type === 'exclude') return false;
      const settings = readDialect(dialect);
      if (what === 'native_search') return settings.native_search;
      if (what === 'hosted_shell') return settings.native_shell && settings.hosted_shell;
      if (what === 'item') {
        const setting = itemSettings.get(type);
        return setting === undefined || settings[setting];
      }
      if (what !== 'tool') return true;
      return type === 'mcp' ? settings.native_mcp : !listLacking(listAbilities(settings)).has(type);
    },
    writeRequest,
    createReader,
    readWhole,
    countWhole,
    count: responsesCount,
  }),
} satisfies Wire;
