/**
 * Parameters that a request can do without. Never one that is a part of its contents, and never one that protects the
 * caller, such as `store: false`.
 */
export const parameters: ReadonlySet<string> = new Set([
  ...['temperature', 'top_p', 'top_k', 'min_p', 'top_a', 'typical_p', 'seed', 'random_seed', 'n'],
  ...['presence_penalty', 'frequency_penalty', 'repetition_penalty', 'logit_bias', 'logprobs', 'top_logprobs'],
  ...['parallel_tool_calls', 'user', 'metadata', 'service_tier', 'truncation', 'include'],
  ...['reasoning_effort', 'reasoning', 'reasoning.summary', 'verbosity', 'prediction'],
  ...['prompt_cache_key', 'prompt_cache_retention', 'cache_control', 'fallbacks'],
  'context_management', // Claude Code sends it, and clouds of Claude reject it
  'max_output_tokens', // servers of Responses that take no limit have no other name for it
]);

/** Names of a parameter that only one wire has in its bodies. */
const aliases: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  reasoning_effort: { 'reasoning.effort': 'openai-responses', 'output_config.effort': 'anthropic-messages' },
  verbosity: { 'text.verbosity': 'openai-responses' },
  top_p: { topP: 'gemini' },
  top_k: { topK: 'gemini' },
  presence_penalty: { presencePenalty: 'gemini' },
  frequency_penalty: { frequencyPenalty: 'gemini' },
  logprobs: { responseLogprobs: 'gemini' },
};
const aliasesOf = (parameter: string): string[] => Object.keys(aliases[parameter] ?? {});
const wireOf = new Map(Object.values(aliases).flatMap((names) => Object.entries(names)));

/** Whether a wire can have a field of this name in its bodies. */
export const isNameOn = (wire: string, name: string): boolean => (wireOf.get(name) ?? wire) === wire;

/** Parameters that mean nothing without another one, which servers then refuse in turn. */
const dependents: Readonly<Record<string, readonly string[]>> = { logprobs: ['top_logprobs'] };

/** The parameter of a name of a wire: `reasoning.effort` → `reasoning_effort`. */
const known = new Map([
  ...[...parameters].map((name) => [name, name] as const),
  ...Object.keys(aliases).flatMap((name) => aliasesOf(name).map((other) => [other, name] as const)),
]);

/** Returns the parameter that a server calls by this name, also in camel case (xAI: `reasoningEffort`). */
export function findParameter(name: string): string | undefined {
  return known.get(name) ?? known.get(name.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

/** Lists the fields of bodies that may have a parameter. Gemini has all of them in one. */
export const listBodyFields = (parameter: string): string[] => [
  ...[parameter, ...aliasesOf(parameter)].map((name) => name.replace(/\..*/, '')),
  'generationConfig',
];

/** Returns a rule for a parameter under each of its names. A parameter that is not sent takes its dependents with it. */
export function fieldsOf<Rule extends object>(parameter: string, rule: Rule): Record<string, Rule> {
  const others = 'send' in rule ? (dependents[parameter] ?? []) : [];
  const names = [parameter, ...aliasesOf(parameter), ...others];
  return Object.fromEntries(names.map((name) => [name, rule]));
}

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const distinctive = [...known.keys()].filter((name) => /[_.]|[a-z][A-Z]/.test(name));
const spelled = [...new Set(distinctive.flatMap((name) => [name, camel(name)]))]
  .sort((one, other) => other.length - one.length)
  .map((name) => name.replaceAll('.', '\\.'));
const anywhere = new RegExp(`(?<![\\w.[])(${spelled.join('|')})(?![\\w[])`, 'g');

/** Lists the parameters in a sentence that no word of a language spells like: `reasoning_effort`, never `user`. */
export const listDistinctive = (text: string): string[] => [...text.matchAll(anywhere)].map(([, name]) => name!);
