import type { Issue } from '../../domain/errors.ts';
import { facets } from './facets.ts';
import type { Settings } from './rule-sets.ts';
import { isNameOn } from './parameter-names.ts';

/** The settings of each facet that a wire does not read, by the id of the wire. A test compares them with the code. */
const unread: Readonly<Record<string, Readonly<Partial<Record<keyof typeof facets, string>>>>> = {
  'openai-chat': {
    ids: 'hosted',
    tools: 'filtered_search with_search only_functions web_access',
    format: 'drop',
    turns: 'whole_messages billing',
    parts: 'image_types',
    client_betas: 'without',
    answers: 'open_end',
  },
  'openai-responses': {
    stops: 'max blank',
    ids: 'unique hosted',
    tools: 'filtered_search description_length strict parameters own_fields with_search keep_for_calls',
    tool_choice: 'while_thinking',
    schemas: 'property_names',
    format: 'drop',
    turns:
      'alternate user_first user_last user_after_tool prefix blank trailing_space user_needed names single_calls text_content result_names null_content billing',
    parts: 'images image_types files',
    reasoning_rules: 'off on keep_effort back field budget by_default signatures',
    cache: 'max longest_first scope ttl',
    client_betas: 'without',
    answers: 'think_tags think_opened marked_calls open_end',
  },
  'anthropic-messages': {
    tools: 'description_length strict parameters own_fields with_search only_functions web_access',
    schemas: 'strict',
    format: 'json_object json_word with_tools while_thinking schema_streamed',
    turns:
      'user_first user_after_tool prefix assistant names whole_messages text_content result_names null_content object_arguments',
    parts: 'images files',
    reasoning_rules: 'not_with_tools on keep_effort field budget signatures',
    answers: 'think_tags think_opened marked_calls',
  },
  gemini: {
    stops: 'blank',
    ids: 'characters length max_length unique hosted',
    tools: 'filtered_search description_length strict parameters own_fields only_functions web_access keep_for_calls',
    tool_choice: 'values while_thinking',
    schemas: 'closed property_names strict',
    format: 'json_schema json_object json_word while_thinking schema_streamed drop',
    turns:
      'alternate user_after_tool prefix assistant blank trailing_space user_needed names single_calls whole_messages text_content result_names null_content object_arguments billing',
    parts: 'images image_types files',
    reasoning_rules: 'not_with_tools off on keep_effort back field budget by_default',
    cache: 'max longest_first scope ttl',
    client_betas: 'without',
    answers: 'think_tags think_opened marked_calls open_end',
  },
};

/** The wires whose `dialect` has the facets of rules. */
export const ruledWires: readonly string[] = Object.keys(unread);

/** Lists the wires that read a setting of a facet, in the order of the guide. */
export const listReaders = (facet: keyof typeof facets, setting: string): string[] =>
  ruledWires.filter((wire) => unread[wire]![facet]?.split(' ').includes(setting) !== true);

/** Finds the settings of facets that none of the wires of a provider reads. Paths begin below `dialect`. */
export function findUnread(wires: readonly string[], dialect: Settings): Issue[] {
  const issues: Issue[] = [];
  if (!wires.some((wire) => ruledWires.includes(wire))) return issues;
  for (const [name, value] of Object.entries(dialect)) {
    if (!isFacet(name) || !('properties' in facets[name])) continue;
    for (const setting of Object.keys(value ?? {})) {
      const readers = listReaders(name, setting);
      if (readers.some((wire) => wires.includes(wire))) continue;
      const message = `has no effect on the wire ${wires.join(' or ')}. These wires read it: ${readers.join(', ')}.`;
      issues.push({ path: `${name}.${setting}`, message });
    }
  }
  return issues;
}

/** Returns the settings without those that a wire does not read. */
export const keepRead = (wire: string, settings: Settings): Settings =>
  Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) => {
      const isRead = readerOf(name, wire);
      if (!isRead) return [[name, value]];
      const kept = Object.entries(value as object).filter(([setting]) => isRead(setting));
      return kept.length === 0 ? [] : [[name, Object.fromEntries(kept)]];
    }),
  );

function readerOf(facet: string, wire: string): ((setting: string) => boolean) | undefined {
  if (facet === 'fields') return (field) => isNameOn(wire, field);
  if (!isFacet(facet) || !('properties' in facets[facet])) return undefined;
  return (setting) => listReaders(facet, setting).includes(wire);
}

const isFacet = (name: string): name is keyof typeof facets => Object.hasOwn(facets, name);
