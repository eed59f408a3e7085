import type { ReasoningEffort } from '../../domain/items.ts';

/** How a provider's `/responses` differs from the one that set the format. The `dialect` of its configuration. */
export interface Dialect {
  /** `reasoning_format`: names who made (and who alone can read) encrypted reasoning. */
  reasoningFormat: string;
  /** `plain_reasoning`: takes reasoning items that have text but no encrypted content. Default: no. */
  plainReasoning: boolean;
  /** `native_items`: knows `additional_tools`, `agent_message`, `compaction`, `context_compaction`. Default: yes. */
  nativeItems: boolean;
  /** `native_configuration_update`: knows that item. Default: no, the last one becomes the request's effort. */
  nativeConfigurationUpdate: boolean;
  /** `cache_breakpoints`: knows `prompt_cache_breakpoint` on parts. Default: yes. */
  cacheBreakpoints: boolean;
  /** `efforts`: the levels it knows; others go to the nearest of them. Absent: every level is sent as it is. */
  efforts: readonly ReasoningEffort[] | undefined;
  /** `unsupported_fields`: top-level fields that it refuses; they are left out and named. */
  unsupportedFields: readonly string[];
}

const none: readonly string[] = [];

/** The configuration has checked names and types; what is absent gets its default here. */
export function readDialect(settings: Readonly<Record<string, unknown>>): Dialect {
  const format = settings.reasoning_format;
  return {
    reasoningFormat: typeof format === 'string' ? format : 'openai-responses-v1',
    plainReasoning: settings.plain_reasoning === true,
    nativeItems: settings.native_items !== false,
    nativeConfigurationUpdate: settings.native_configuration_update === true,
    cacheBreakpoints: settings.cache_breakpoints !== false,
    efforts: Array.isArray(settings.efforts) ? settings.efforts : undefined,
    unsupportedFields: Array.isArray(settings.unsupported_fields) ? settings.unsupported_fields : none,
  };
}
