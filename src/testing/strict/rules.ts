import { findSchemaFault, type SchemaFaults } from './schema-faults.ts';
import { isFields, type Seen, type SeenMessage } from './seen.ts';
import { type Envelope, type Refusal, speak, type Words } from './words.ts';

interface StrictNumber {
  min?: number;
  above?: number;
  max?: number;
  below?: number;
  only?: readonly number[];
  /** Whether the rule holds only while the model reasons, or only while it does not. Absent: always. */
  thinking?: boolean;
  /** The rule holds only if the temperature is 0. */
  greedy?: true;
  says: Words;
}

/**
 * What one server refuses, and in which words. A rule that is absent is not checked. Placeholders of the words are
 * named in the comments.
 */
export interface StrictRules {
  /** Fields of the settings. `{name}` */
  fields?: { known?: readonly string[]; refused?: readonly string[]; says: Words };
  /** Numbers of the settings. `{value}` */
  numbers?: Record<string, StrictNumber | readonly StrictNumber[]>;
  /** Words of the settings. `{value}` */
  values?: Record<string, { only: readonly unknown[]; says: Words }>;
  /** Fields that are refused while the model reasons, unless they have this value. `{name}`, `{value}` */
  whileThinking?: { fields: Record<string, unknown>; says: Words };
  /** Whether the model reasons if the request does not say. */
  thinksByDefault?: boolean;
  /** The limit of the output. `{value}` */
  output?: { min?: number; max?: number; maxUnstreamed?: number; needed?: boolean; says: Words };
  /** A budget of reasoning in `thinking.budget_tokens`, which is less than `max_tokens`. `{value}` */
  budget?: { min: number; says: Words };
  /** Reasoning without a stream. */
  thinkingUnstreamed?: Words;
  /** Values of `thinking.type`. `{value}` */
  thinkingTypes?: { only: readonly string[]; says: Words };
  /** Efforts of a request that turns the reasoning off. `{value}` */
  effortWhenOff?: { only: readonly string[]; says: Words };
  /** Texts that end the output. `{count}` */
  stops?: { max?: number; says: Words; blank?: Words };
  /** Ids of calls. `{value}` */
  ids?: { pattern?: RegExp; says?: Words; repeated?: Words };
  /** Tools. `{value}`, `{index}`, `{count}` */
  tools?: {
    name?: { pattern: RegExp; says: Words };
    description?: { max: number; says: Words };
    max?: { count: number; says: Words };
    empty?: Words;
    /** A tool without a schema. */
    noParameters?: Words;
    /** `strict` in any tool. */
    strict?: Words;
    /** Strict tools beside others. */
    mixedStrict?: Words;
    none?: Words;
    /** Versions of tools of the provider that are unknown. `{value}` */
    unknownHosted?: { pattern: RegExp; says: Words };
    /** Calls in the conversation without tools in the request. */
    missing?: Words;
    schemas?: SchemaFaults<Words>;
  };
  /** Choices that are accepted. `{value}` */
  choice?: {
    only?: readonly NonNullable<Seen['choice']>[];
    says?: Words;
    /** Choices that are accepted while the model reasons. */
    whileThinking?: { only: readonly NonNullable<Seen['choice']>[]; says: Words };
    /** A choice without tools. */
    alone?: Words;
    /** A named tool that is not offered. */
    unknown?: Words;
  };
  /** `parallel_tool_calls` without tools. */
  parallelAlone?: Words;
  /** Efforts together with tools. `{value}` */
  effortWithTools?: Words;
  format?: {
    json_object?: Words;
    json_schema?: Words;
    /** JSON mode without the word in the messages. */
    word?: Words;
    /** The word is needed in any letter case, or in this one. */
    withTools?: Words;
    withStream?: Words;
    /** A format while the model reasons. */
    whileThinking?: Words;
    schemas?: SchemaFaults<Words>;
  };
  /** Order and contents of the messages. `{role}`, `{before}`, `{index}` */
  turns?: {
    roles?: { only: readonly SeenMessage['role'][]; says: Words };
    /** One system message, at the beginning. */
    systemFirst?: Words;
    system?: Words;
    alternate?: Words;
    first?: { only: readonly SeenMessage['role'][]; says: Words };
    last?: { only: readonly SeenMessage['role'][]; says: Words };
    /** A last message of the assistant needs `prefix: true`. */
    prefix?: Words;
    userAfterTool?: Words;
    /** A message of the assistant without text and calls. */
    emptyAssistant?: Words;
    textAndCalls?: Words;
    /** A text of white space alone, or none in a message. */
    blank?: Words;
    /** A message without any content. */
    empty?: Words;
    trailingSpace?: Words;
    /** No message besides the system prompt. */
    none?: Words;
    noUser?: Words;
    /** A call without its result. `{ids}` */
    missingResult?: Words;
    /** A result without its call. `{value}` */
    orphan?: Words;
    /** Arguments that are no JSON object. `{value}` */
    badArguments?: Words;
    name?: { pattern?: RegExp; says: Words };
    /** Calls of the present turn without the reasoning before them, while the model reasons. */
    reasoning?: Words | undefined;
    /** The same for all calls of the conversation. */
    allReasoning?: Words | undefined;
    unsigned?: Words;
    /** A result without the name of its function. */
    unnamedResult?: Words;
  };
  /** `{value}` */
  parts?: {
    only?: { kinds: readonly string[]; says: Words };
    imagesInResults?: Words;
    /** Parts in a result other than text. */
    resultKinds?: { only: readonly string[]; says: Words };
    links?: Words;
    imageTypes?: { only: readonly string[]; says: Words };
    /** Bytes of another type than declared. `{value}`, `{found}` */
    imageBytes?: Words;
    /** A message with texts alone has a list of parts. */
    stringContent?: Words;
  };
  marks?: { max?: number; tooMany?: Words; order?: Words; scope?: Words; ttl?: Words; empty?: Words };
  /** Half of a surrogate pair. */
  halfCharacters?: Words;
}

/** Returns the refusal of a request, or undefined if the server takes it. */
export function findRefusal(rules: StrictRules, envelope: Envelope, seen: Seen, body: unknown): Refusal | undefined {
  const found = findFault(rules, seen, body);
  return found && speak(envelope, found.says, found.values);
}

interface Fault {
  says: Words;
  values?: Record<string, unknown>;
}

function findFault(rules: StrictRules, seen: Seen, body: unknown): Fault | undefined {
  if (rules.halfCharacters !== undefined && hasHalfCharacter(body)) return { says: rules.halfCharacters };
  if (seen.fault !== undefined) return { says: seen.fault };
  const thinks = seen.thinking ?? rules.thinksByDefault ?? false;
  return (
    checkSettings(rules, seen, thinks) ??
    checkTools(rules, seen) ??
    checkChoice(rules, seen, thinks) ??
    checkFormat(rules, seen, thinks) ??
    checkIds(rules, seen) ??
    checkTurns(rules, seen, thinks) ??
    checkParts(rules, seen) ??
    checkMarks(rules, seen)
  );
}

/** Whether a text anywhere in a value has half of a surrogate pair. */
function hasHalfCharacter(value: unknown): boolean {
  if (typeof value === 'string') return !value.isWellFormed();
  if (Array.isArray(value)) return value.some(hasHalfCharacter);
  if (!isFields(value)) return false;
  return Object.entries(value).some(([name, each]) => !name.isWellFormed() || hasHalfCharacter(each));
}

function checkSettings(rules: StrictRules, seen: Seen, thinks: boolean): Fault | undefined {
  const { settings } = seen;
  const { fields } = rules;
  for (const name of Object.keys(settings)) {
    const isUnknown = fields?.known !== undefined && !fields.known.includes(name);
    if (fields && (isUnknown || fields.refused?.includes(name))) return { says: fields.says, values: { name } };
  }
  const numbers = Object.entries(rules.numbers ?? {}).flatMap(([name, given]) =>
    [given].flat().map((rule): [string, StrictNumber] => [name, rule as StrictNumber]),
  );
  for (const [name, { min, above, max, below, only, thinking = thinks, greedy, says }] of numbers) {
    const value = settings[name];
    if (typeof value !== 'number' || thinking !== thinks) continue;
    if (greedy && settings['temperature'] !== 0) continue;
    const fits =
      (below === undefined || value < below) &&
      (min === undefined || value >= min) &&
      (above === undefined || value > above) &&
      (max === undefined || value <= max) &&
      (only === undefined || only.includes(value));
    if (!fits) return { says, values: { value } };
  }
  for (const [name, { only, says }] of Object.entries(rules.values ?? {})) {
    const value = name === 'effort' ? seen.effort : settings[name];
    if (value !== undefined && !only.includes(value)) return { says, values: { value } };
  }
  for (const [name, accepted] of Object.entries(thinks ? (rules.whileThinking?.fields ?? {}) : {})) {
    const value = settings[name];
    if (value !== undefined && value !== accepted) return { says: rules.whileThinking!.says, values: { name, value } };
  }
  const tokens = (settings['thinking'] as { budget_tokens?: unknown } | undefined)?.budget_tokens;
  if (rules.budget && typeof tokens === 'number') {
    if (tokens < rules.budget.min || tokens >= (seen.output ?? 0))
      return { says: rules.budget.says, values: { value: tokens } };
  }
  const { output, stops } = rules;
  if (output) {
    const { min = 1, max = Number.POSITIVE_INFINITY, maxUnstreamed = max, says } = output;
    const value = seen.output;
    if (value === undefined ? output.needed : value < min || value > (seen.stream ? max : Math.min(max, maxUnstreamed)))
      return { says, values: { value } };
  }
  if (stops?.max !== undefined && seen.stops.length > stops.max)
    return { says: stops.says, values: { count: seen.stops.length } };
  if (stops?.blank !== undefined && seen.stops.some((stop) => stop.trim() === '')) return { says: stops.blank };
  if (rules.thinkingUnstreamed !== undefined && thinks && !seen.stream) return { says: rules.thinkingUnstreamed };
  const { type } = (settings['thinking'] ?? {}) as { type?: string };
  if (rules.thinkingTypes && type !== undefined && !rules.thinkingTypes.only.includes(type))
    return { says: rules.thinkingTypes.says, values: { value: type } };
  const off = rules.effortWhenOff;
  if (off && type !== undefined && seen.thinking === false && seen.effort && !off.only.includes(seen.effort))
    return { says: off.says, values: { value: seen.effort } };
  return undefined;
}

function checkTools(all: StrictRules, seen: Seen): Fault | undefined {
  const { tools: rules, effortWithTools } = all;
  const { tools, effort = all.thinksByDefault ? 'medium' : 'none' } = seen;
  const has = tools !== undefined && tools.length > 0;
  if (has && effortWithTools !== undefined && effort !== 'none')
    return { says: effortWithTools, values: { value: effort } };
  if (!rules) return undefined;
  const hosted = seen.hosted?.find((type) => rules.unknownHosted?.pattern.test(type));
  if (hosted !== undefined) return { says: rules.unknownHosted!.says, values: { value: hosted } };
  const calls = seen.messages.some((message) => message.calls.length > 0);
  if (!has) {
    if (tools && rules.empty !== undefined) return { says: rules.empty };
    return calls && rules.missing !== undefined ? { says: rules.missing } : undefined;
  }
  if (rules.none !== undefined) return { says: rules.none };
  if (rules.max && tools.length > rules.max.count) return { says: rules.max.says, values: { count: tools.length } };
  const areStrict = tools.map(({ strict }) => strict === true);
  if (rules.mixedStrict !== undefined && areStrict.includes(true) && areStrict.includes(false))
    return { says: rules.mixedStrict };
  for (const [index, { name, description = '', parameters, strict }] of tools.entries()) {
    const values = { index, value: name };
    if (rules.name && !rules.name.pattern.test(name)) return { says: rules.name.says, values };
    if (rules.description && description.length > rules.description.max)
      return { says: rules.description.says, values: { index, value: description.length } };
    if (rules.strict !== undefined && strict !== undefined) return { says: rules.strict, values };
    if (rules.noParameters !== undefined && parameters === undefined) return { says: rules.noParameters, values };
    const fault = parameters && rules.schemas && findSchemaFault(parameters, rules.schemas);
    if (fault) return { says: fault.says, values: { ...values, ...fault.values, tool: name } };
  }
  const called = seen.messages.flatMap((message) => message.calls.map(({ name }) => name));
  const wrong = called.find((name) => rules.name && !rules.name.pattern.test(name));
  return wrong === undefined ? undefined : { says: rules.name!.says, values: { index: 0, value: wrong } };
}

function checkChoice({ choice: rules, parallelAlone }: StrictRules, seen: Seen, thinks: boolean): Fault | undefined {
  const has = (seen.tools?.length ?? 0) > 0;
  if (!has && parallelAlone !== undefined && seen.settings['parallel_tool_calls'] !== undefined)
    return { says: parallelAlone };
  const { choice } = seen;
  if (!rules || choice === undefined) return undefined;
  const values = { value: choice };
  if (!has && rules.alone !== undefined) return { says: rules.alone, values };
  if (rules.only && !rules.only.includes(choice)) return { says: rules.says ?? '', values };
  if (thinks && rules.whileThinking && !rules.whileThinking.only.includes(choice))
    return { says: rules.whileThinking.says, values };
  if (choice === 'named' && rules.unknown !== undefined && !seen.tools?.some(({ name }) => name === seen.chosen))
    return { says: rules.unknown, values: { value: seen.chosen } };
  return undefined;
}

function checkFormat({ format: rules }: StrictRules, seen: Seen, thinks: boolean): Fault | undefined {
  const { format } = seen;
  if (!rules || !format) return undefined;
  const refused = rules[format.kind];
  if (refused !== undefined) return { says: refused };
  const said = seen.messages.flatMap(({ texts }) => texts).join('\n');
  if (format.kind === 'json_object' && rules.word !== undefined && !/json/i.test(said)) return { says: rules.word };
  if (rules.withTools !== undefined && (seen.tools?.length ?? 0) > 0) return { says: rules.withTools };
  if (rules.whileThinking !== undefined && thinks) return { says: rules.whileThinking };
  if (rules.withStream !== undefined && seen.stream) return { says: rules.withStream };
  const fault = format.schema && rules.schemas && findSchemaFault(format.schema, rules.schemas);
  return fault && { says: fault.says, values: fault.values };
}

function checkIds({ ids: rules }: StrictRules, { messages }: Seen): Fault | undefined {
  if (!rules) return undefined;
  const calls = messages.flatMap((message) => message.calls.map(({ id }) => id));
  const all = [...calls, ...messages.flatMap((message) => message.results.map(({ id }) => id))];
  const wrong = all.find((id) => rules.pattern && !rules.pattern.test(id));
  if (wrong !== undefined) return { says: rules.says ?? '', values: { value: wrong } };
  const repeated = calls.find((id, index) => calls.indexOf(id) !== index);
  if (repeated !== undefined && rules.repeated !== undefined)
    return { says: rules.repeated, values: { value: repeated } };
  return undefined;
}

const isSystem = ({ role }: SeenMessage): boolean => role === 'system' || role === 'developer';
const isSilent = ({ texts }: SeenMessage): boolean => texts.every((text) => text === '');

function checkTurns({ turns: rules }: StrictRules, { messages }: Seen, thinks: boolean): Fault | undefined {
  if (!rules) return undefined;
  const spoken = messages.filter((message) => !isSystem(message));
  if (rules.none !== undefined && spoken.length === 0) return { says: rules.none };
  if (rules.noUser !== undefined && !messages.some(({ role }) => role === 'user')) return { says: rules.noUser };
  for (const [index, message] of messages.entries()) {
    const { role, calls, texts, name } = message;
    const before = messages[index - 1];
    const values = { role, before: before?.role, index };
    const fault = (says: Words | undefined, isFault: boolean): Words | undefined => (isFault ? says : undefined);
    const says =
      fault(rules.roles?.says, rules.roles !== undefined && !rules.roles.only.includes(role)) ??
      fault(rules.system, isSystem(message)) ??
      fault(rules.systemFirst, isSystem(message) && index > 0) ??
      fault(rules.userAfterTool, role === 'user' && before?.role === 'tool') ??
      fault(rules.emptyAssistant, role === 'assistant' && isSilent(message) && calls.length === 0) ??
      fault(rules.textAndCalls, role === 'assistant' && !isSilent(message) && calls.length > 0) ??
      fault(
        rules.blank,
        texts.some((text) => text.trim() === ''),
      ) ??
      fault(
        rules.empty,
        message.kinds.length === 0 && calls.length + message.results.length === 0 && !message.hasReasoning,
      ) ??
      fault(rules.name?.says, name !== undefined && rules.name?.pattern?.test(name) !== true) ??
      fault(
        rules.badArguments,
        calls.some((call) => !isFields(call.arguments)),
      ) ??
      fault(rules.unsigned, calls.length > 0 && message.isSigned === false) ??
      fault(rules.unnamedResult, message.results.length > 0 && name === undefined);
    if (says !== undefined) return { says, values };
  }
  return (
    checkOrder(thinks ? rules : { ...rules, reasoning: undefined, allReasoning: undefined }, messages, spoken) ??
    checkResults(rules, messages)
  );
}

type TurnRules = NonNullable<StrictRules['turns']>;

function checkOrder(rules: TurnRules, messages: SeenMessage[], spoken: SeenMessage[]): Fault | undefined {
  const last = messages.at(-1);
  const first = spoken[0];
  if (first && rules.first && !rules.first.only.includes(first.role))
    return { says: rules.first.says, values: { role: first.role } };
  const isAllowedPrefix = last?.role === 'assistant' && last.prefix === true;
  if (last && rules.last && !rules.last.only.includes(last.role) && !isAllowedPrefix)
    return { says: rules.last.says, values: { role: last.role } };
  if (last?.role === 'assistant' && rules.prefix !== undefined && !isAllowedPrefix)
    return { says: rules.prefix, values: { role: last.role } };
  if (last?.role === 'assistant' && rules.trailingSpace !== undefined && /\s$/.test(last.texts.at(-1) ?? ''))
    return { says: rules.trailingSpace };
  if (rules.alternate !== undefined) {
    const pair = messages.findIndex(
      ({ role }, index) => (role === 'user' || role === 'assistant') && messages[index - 1]?.role === role,
    );
    if (pair !== -1) return { says: rules.alternate, values: { role: messages[pair]!.role, index: pair } };
  }
  const { reasoning = rules.allReasoning } = rules;
  if (reasoning !== undefined) {
    const isAll = rules.allReasoning !== undefined;
    const turn = isAll ? messages : messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
    const index = turn.findIndex((message) => message.calls.length > 0 && !message.hasReasoning);
    if (index !== -1) return { says: reasoning, values: { index } };
  }
  return undefined;
}

/** Every call has its result in the next message, or in the tool messages that follow. Every result has its call. */
function checkResults(rules: TurnRules, messages: SeenMessage[]): Fault | undefined {
  let waiting = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const { role, calls, results } = message;
    const orphan = results.find(({ id }) => !waiting.delete(id));
    if (orphan && rules.orphan !== undefined) return { says: rules.orphan, values: { value: orphan.id, index } };
    if (role === 'tool' && messages[index + 1]?.role === 'tool') continue;
    if (waiting.size > 0 && rules.missingResult !== undefined)
      return { says: rules.missingResult, values: { ids: [...waiting].join(', '), index } };
    waiting = new Set(calls.map(({ id }) => id));
  }
  if (waiting.size > 0 && rules.missingResult !== undefined)
    return { says: rules.missingResult, values: { ids: [...waiting].join(', '), index: messages.length } };
  return undefined;
}

const imageHeads: readonly (readonly [string, RegExp])[] = [
  ['image/png', /^\x89PNG/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8/],
  ['image/webp', /^RIFF.{4}WEBP/s],
];

function checkParts({ parts: rules }: StrictRules, { messages }: Seen): Fault | undefined {
  if (!rules) return undefined;
  for (const [index, { role, kinds, images, results }] of messages.entries()) {
    const { only, resultKinds } = rules;
    const inResults = results.flatMap((result) => result.kinds);
    const unknown = [...kinds, ...inResults].find((kind) => only && kind !== 'string' && !only.kinds.includes(kind));
    if (unknown !== undefined) return { says: only!.says, values: { value: unknown, index } };
    const wrong = inResults.find((kind) => resultKinds && kind !== 'string' && !resultKinds.only.includes(kind));
    if (wrong !== undefined) return { says: resultKinds!.says, values: { value: wrong, index } };
    if (
      rules.imagesInResults !== undefined &&
      (results.some(({ hasImages }) => hasImages) || (role !== 'user' && images.length > 0))
    )
      return { says: rules.imagesInResults, values: { index } };
    const isList = kinds.length > 0 && kinds.every((kind) => kind === 'text');
    if (rules.stringContent !== undefined && isList) return { says: rules.stringContent, values: { role, index } };
    for (const { data, type } of images) {
      if (data === undefined) {
        if (rules.links !== undefined) return { says: rules.links, values: { index } };
        continue;
      }
      if (rules.imageTypes && !rules.imageTypes.only.includes(String(type)))
        return { says: rules.imageTypes.says, values: { value: type, index } };
      const head = Buffer.from(data.slice(0, 64), 'base64').toString('latin1');
      const found = imageHeads.find(([, pattern]) => pattern.test(head))?.[0];
      if (rules.imageBytes !== undefined && found !== undefined && found !== type)
        return { says: rules.imageBytes, values: { value: type, found, index } };
    }
  }
  return undefined;
}

function checkMarks({ marks: rules }: StrictRules, { marks }: Seen): Fault | undefined {
  if (!rules) return undefined;
  if (rules.max !== undefined && marks.length > rules.max)
    return { says: rules.tooMany ?? '', values: { value: marks.length } };
  if (rules.scope !== undefined && marks.some(({ scope }) => scope !== undefined)) return { says: rules.scope };
  if (rules.ttl !== undefined && marks.some(({ ttl }) => ttl !== undefined)) return { says: rules.ttl };
  if (rules.empty !== undefined && marks.some(({ isEmpty }) => isEmpty)) return { says: rules.empty };
  const short = marks.findIndex(({ ttl }) => ttl !== '1h');
  if (rules.order !== undefined && short !== -1 && marks.findLastIndex(({ ttl }) => ttl === '1h') > short)
    return { says: rules.order };
  return undefined;
}
