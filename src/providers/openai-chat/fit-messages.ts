import { readTextFile } from '../../domain/data-url.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { refuseBecause } from '../kit/draft.ts';
import type { Rules } from '../rules/facets.ts';
import type { FitNotes } from '../rules/fit/notes.ts';
import { INSTRUCTION, NO_RESULT } from '../rules/fit/texts.ts';
import type { ChatMessage, ChatPart } from './wire.ts';

type TurnRules = NonNullable<Rules['turns']>;

/**
 * Fits the messages of a conversation to the order and the contents that a server accepts. Adapts without a loss where
 * it can: joins neighbors, moves instructions into a message of the user, repeats nothing.
 *
 * @param hasUniqueIds whether calls of the same id get different ones, so that each needs a result of its own
 */
export function fitMessages(
  given: readonly ChatMessage[],
  rules: TurnRules,
  notes: FitNotes,
  hasUniqueIds = false,
): ChatMessage[] {
  let messages = given.slice();
  const adapt = (what: string): void => void notes.adapted.add(what);
  const { names } = rules;
  if (names && names !== 'any') messages = messages.map((message) => fitName(message, names, adapt));
  if (rules.system && rules.system !== 'anywhere') messages = fitSystem(messages, rules.system, adapt);
  if (rules.object_arguments) messages = fitArguments(messages, adapt);
  const isSingle = rules.single_calls === true;
  if (rules.results || isSingle) messages = fitResults(messages, adapt, hasUniqueIds || isSingle);
  if (isSingle) messages = separateCalls(messages, adapt);
  if (rules.blank === false) messages = dropBlank(messages, adapt);
  if (rules.assistant && rules.assistant !== 'any') messages = fitAssistant(messages, rules.assistant, adapt);
  if (messages.length === 0) throw refuseBecause('input', 'holds no content: all of its texts are blank');
  if (rules.user_after_tool === false) messages = separateResults(messages, adapt);
  if (rules.alternate) messages = joinNeighbors(messages, adapt);
  if (rules.user_needed && messages.every(({ role }) => isSystem(role))) {
    messages = messages.map((message, index) =>
      index === messages.length - 1 ? { ...message, role: 'user' } : message,
    );
    adapt('roles');
  }
  if (rules.user_first) messages = beginWithUser(messages, adapt);
  if (rules.null_content === false) messages = messages.map((message) => fillContent(message, adapt));
  return fitEnd(messages, rules, adapt);
}

const isSystem = (role: string): boolean => role === 'system' || role === 'developer';
const hasCalls = ({ tool_calls: calls }: ChatMessage): boolean => calls !== undefined && calls.length > 0;

function fitName(message: ChatMessage, rule: 'word' | 'none', adapt: (what: string) => void): ChatMessage {
  const { name, ...rest } = message;
  if (name === undefined) return message;
  const fitted = rule === 'none' ? undefined : name.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 64);
  if (fitted === name) return message;
  adapt('names of messages');
  return fitted === undefined ? withText(rest, `${name}: `) : { ...message, name: fitted };
}

/** Puts a text before the content of a message. */
function withText(message: ChatMessage, text: string): ChatMessage {
  const { content } = message;
  if (typeof content === 'string') return { ...message, content: text + content };
  if (!content) return message;
  return { ...message, content: [{ type: 'text', text }, ...content] };
}

function fitSystem(
  messages: ChatMessage[],
  rule: 'first' | 'not_last' | 'user',
  adapt: (what: string) => void,
): ChatMessage[] {
  const start = messages.findIndex(({ role }) => !isSystem(role));
  const head = start === -1 ? messages : messages.slice(0, start);
  const toUser = (message: ChatMessage): ChatMessage => withText({ ...message, role: 'user' }, INSTRUCTION);
  if (rule === 'not_last') {
    const last = messages.at(-1);
    if (!last || !isSystem(last.role)) return messages;
    adapt('roles');
    return [...messages.slice(0, -1), toUser(last)];
  }
  if (rule === 'user') {
    if (!messages.some(({ role }) => isSystem(role))) return messages;
    adapt('roles');
    return messages.map((message) => (isSystem(message.role) ? toUser(message) : message));
  }
  const rest = start === -1 ? [] : messages.slice(start);
  const hasLater = rest.some(({ role }) => isSystem(role));
  if (head.length < 2 && !hasLater) return messages;
  adapt('roles');
  const begun = head.length < 2 ? head : [head.reduce((joined, next) => joinMessages(joined, next))];
  return [...begun, ...rest.map((message) => (isSystem(message.role) ? toUser(message) : message))];
}

/** Adds the name of its function to each result. A server of Gemini does not look it up by the id of the call. */
export function nameResults(messages: readonly ChatMessage[], notes: FitNotes): ChatMessage[] {
  const names = new Map<string, string>();
  return messages.map((message) => {
    const { tool_calls: calls, tool_call_id: id } = message;
    for (const call of calls ?? []) names.set(call.id, call.function.name);
    const name = id === undefined ? undefined : names.get(id);
    if (name === undefined) return message;
    notes.adapted.add('names of results');
    return { ...message, name };
  });
}

/** Servers and templates parse the arguments of earlier calls. Those of an interrupted response are no JSON. */
function fitArguments(messages: ChatMessage[], adapt: (what: string) => void): ChatMessage[] {
  return messages.map((message) => {
    if (!message.tool_calls?.some((call) => !isObject(call.function.arguments))) return message;
    adapt('arguments that are no object');
    const calls = message.tool_calls.map((call) => {
      const { arguments: text } = call.function;
      if (isObject(text)) return call;
      return { ...call, function: { ...call.function, arguments: JSON.stringify({ arguments: text }) } };
    });
    return { ...message, tool_calls: calls };
  });
}

function fillContent(message: ChatMessage, adapt: (what: string) => void): ChatMessage {
  if (message.content !== null) return message;
  adapt('empty contents');
  return { ...message, content: '' };
}

const isObject = (text: string): boolean => parseObject(text, 'arguments') !== undefined;

/** Gives every call a result and drops results without a call, as text of the user. */
function fitResults(messages: ChatMessage[], adapt: (what: string) => void, hasUniqueIds: boolean): ChatMessage[] {
  const fitted: ChatMessage[] = [];
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]!;
    if (message.role === 'tool') {
      adapt('results without a call');
      fitted.push(withText({ role: 'user', content: message.content }, 'Result of a tool: '));
      continue;
    }
    fitted.push(message);
    if (!hasCalls(message)) continue;
    const ids = message.tool_calls!.map(({ id }) => id);
    const missing = hasUniqueIds ? ids : [...new Set(ids)];
    for (let next = messages[index + 1]; next?.role === 'tool'; next = messages[index + 1]) {
      const at = missing.indexOf(next.tool_call_id!);
      if (at === -1) break;
      missing.splice(at, 1);
      fitted.push(next);
      index++;
    }
    if (missing.length > 0) adapt('calls without a result');
    for (const id of missing) fitted.push({ role: 'tool', tool_call_id: id, content: NO_RESULT });
  }
  return fitted;
}

/** Puts each of several calls into a message of its own, followed by its result. */
function separateCalls(messages: ChatMessage[], adapt: (what: string) => void): ChatMessage[] {
  const fitted: ChatMessage[] = [];
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]!;
    const calls = message.tool_calls ?? [];
    if (calls.length < 2) {
      fitted.push(message);
      continue;
    }
    adapt('parallel calls');
    const results: ChatMessage[] = [];
    while (messages[index + 1]?.role === 'tool') results.push(messages[++index]!);
    for (const [at, call] of calls.entries()) {
      fitted.push(
        at === 0 ? { ...message, tool_calls: [call] } : { role: 'assistant', content: null, tool_calls: [call] },
      );
      const own = results.findIndex(({ tool_call_id: id }) => id === call.id);
      if (own !== -1) fitted.push(...results.splice(own, 1));
    }
  }
  return fitted;
}

const isBlank = (text: string): boolean => text.trim() === '';
const isBlankContent = (content: ChatMessage['content']): boolean =>
  typeof content === 'string'
    ? isBlank(content)
    : (content ?? []).every((part) => part.type === 'text' && isBlank(part.text));

function dropBlank(messages: ChatMessage[], adapt: (what: string) => void): ChatMessage[] {
  return messages.flatMap((message) => {
    const { content } = message;
    const kept =
      typeof content === 'string'
        ? isBlank(content)
          ? null
          : content
        : (content?.filter((part) => part.type !== 'text' || !isBlank(part.text)) ?? null);
    const isEmpty = kept === null || kept.length === 0;
    if (!isEmpty && (typeof kept === 'string' || kept.length === content!.length)) return [message];
    if (content === null && hasCalls(message)) return [message];
    adapt('blank texts');
    if (!isEmpty) return [{ ...message, content: kept }];
    if (message.role === 'tool') return [{ ...message, content: '(empty)' }];
    if (hasCalls(message)) return [{ ...message, content: null }];
    return [];
  });
}

/** `some`: no empty message. `one`: text and calls in messages of their own. */
function fitAssistant(messages: ChatMessage[], rule: 'some' | 'one', adapt: (what: string) => void): ChatMessage[] {
  return messages.flatMap((message): ChatMessage[] => {
    if (message.role !== 'assistant') return [message];
    const hasText = !isBlankContent(message.content);
    if (!hasText && !hasCalls(message)) {
      adapt('empty messages');
      return [];
    }
    if (rule === 'some' || !hasCalls(message)) return [message];
    if (!hasText) return [message.content ? { ...message, content: '' } : message];
    adapt('text beside calls');
    const { tool_calls: calls, reasoning_content: thoughts, ...text } = message;
    const called: ChatMessage = { role: 'assistant', content: '', tool_calls: calls! };
    if (thoughts !== undefined) called.reasoning_content = thoughts;
    return [text, called];
  });
}

/** Puts a short message of the assistant between a result and a message of the user. */
function separateResults(messages: ChatMessage[], adapt: (what: string) => void): ChatMessage[] {
  return messages.flatMap((message, index): ChatMessage[] => {
    if (message.role !== 'user' || messages[index - 1]?.role !== 'tool') return [message];
    adapt('a user message after a result');
    return [{ role: 'assistant', content: 'OK.' }, message];
  });
}

function joinMessages(first: ChatMessage, second: ChatMessage): ChatMessage {
  const content =
    typeof first.content === 'string' && typeof second.content === 'string'
      ? `${first.content}\n\n${second.content}`
      : [...asParts(first.content), ...asParts(second.content)];
  const joined: ChatMessage = { ...first, ...second, role: first.role, content };
  if (first.tool_calls) joined.tool_calls = [...first.tool_calls, ...(second.tool_calls ?? [])];
  return joined;
}

const asParts = (content: ChatMessage['content']): ChatPart[] =>
  typeof content === 'string' ? (content === '' ? [] : [{ type: 'text', text: content }]) : (content ?? []);

function joinNeighbors(messages: ChatMessage[], adapt: (what: string) => void): ChatMessage[] {
  const joined: ChatMessage[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    const isPair = last?.role === message.role && (message.role === 'user' || message.role === 'assistant');
    if (!last || !isPair || (hasCalls(last) && !hasCalls(message))) {
      joined.push(message);
      continue;
    }
    adapt('neighbors of one role');
    joined[joined.length - 1] = joinMessages(last, message);
  }
  return joined;
}

function beginWithUser(messages: ChatMessage[], adapt: (what: string) => void): ChatMessage[] {
  const start = messages.findIndex(({ role }) => !isSystem(role));
  if (start === -1 || messages[start]!.role === 'user') return messages;
  adapt('a first message of the user');
  return [...messages.slice(0, start), { role: 'user', content: CONTINUE }, ...messages.slice(start)];
}

/** The message of the user that a server needs at the beginning or the end. */
const CONTINUE = 'Continue.';

function fitEnd(messages: ChatMessage[], rules: TurnRules, adapt: (what: string) => void): ChatMessage[] {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || hasCalls(last)) return messages;
  if (rules.user_last) {
    adapt('a last message of the user');
    return [...messages, { role: 'user', content: CONTINUE }];
  }
  if (rules.prefix) {
    const name = rules.prefix === true ? 'prefix' : rules.prefix;
    adapt(name);
    return [...messages.slice(0, -1), { ...last, [name]: true }];
  }
  if (rules.trailing_space === false && typeof last.content === 'string' && /\s$/.test(last.content)) {
    adapt('white space at the end');
    return [...messages.slice(0, -1), { ...last, content: last.content.trimEnd() }];
  }
  return messages;
}

/**
 * Keeps the earlier reasoning that the server takes. With `turn`, the calls of the present turn have at least an empty one,
 * which servers accept for the calls of other models.
 */
export function fitThoughts(
  messages: readonly ChatMessage[],
  rule: 'never' | 'turn' | 'always',
  isOff: boolean,
): ChatMessage[] {
  const start = messages.findLastIndex(({ role }) => role === 'user');
  return messages.map((message, index) => {
    const { reasoning_content: thoughts, ...rest } = message;
    const isKept = rule === 'always' || (rule === 'turn' && index > start);
    if (!isKept) return thoughts === undefined ? message : rest;
    return thoughts === undefined && hasCalls(message) && !isOff ? { ...message, reasoning_content: '' } : message;
  });
}

/** Moves earlier reasoning to the field in which the server reads it. */
export function placeThoughts(message: ChatMessage, field: 'reasoning' | 'both' | 'tags'): ChatMessage {
  const { reasoning_content: thoughts, ...rest } = message;
  if (thoughts === undefined) return message;
  if (field === 'both') return { ...message, reasoning: thoughts };
  if (field === 'reasoning') return { ...rest, reasoning: thoughts };
  return thoughts === '' ? rest : withText({ ...rest, content: rest.content ?? '' }, `<think>${thoughts}</think>`);
}

type PartRules = NonNullable<Rules['parts']>;

/** The text of a result whose parts follow in a message of the user. */
const sayBelow = (parts: readonly ChatPart[]): string =>
  `(The ${parts.every(({ type }) => type === 'image_url') ? 'image' : 'file'} is in the next message.)`;

const isMedia = ({ type }: ChatPart): boolean => type !== 'text';

/** Moves images and files of results behind the last result, in a message of the user, and reads text files as text. */
export function fitParts(
  messages: readonly ChatMessage[],
  rules: PartRules,
  notes: FitNotes,
  refuse: { file: (filename: string | undefined) => Error; image: () => Error },
): ChatMessage[] {
  const fitted: ChatMessage[] = [];
  let waiting: ChatPart[] = [];
  const flush = (): void => {
    if (waiting.length === 0) return;
    fitted.push({ role: 'user', content: waiting });
    waiting = [];
  };
  for (const message of messages) {
    if (message.role !== 'tool') flush();
    const { content } = message;
    if (typeof content === 'string' || !content) {
      fitted.push(message);
      continue;
    }
    const parts = rules.files === 'text' ? content.map((part) => readFile(part, notes, refuse.file)) : content;
    if (rules.images === 'none' && parts.some(({ type }) => type === 'image_url')) throw refuse.image();
    const media = rules.images === 'user' && message.role === 'tool' ? parts.filter(isMedia) : [];
    if (media.length === 0) {
      fitted.push(parts === content ? message : { ...message, content: simplify(parts) });
      continue;
    }
    notes.adapted.add('images and files of results');
    const texts = parts.filter((part) => !isMedia(part));
    waiting.push(...media);
    fitted.push({
      ...message,
      content: simplify(texts.length > 0 ? texts : [{ type: 'text', text: sayBelow(media) }]),
    });
  }
  flush();
  return fitted;
}

/** Returns one string if there are only texts, which every server accepts. */
function simplify(parts: ChatPart[]): string | ChatPart[] {
  const texts = parts.flatMap((part) => (part.type === 'text' && !part.cache_control ? [part.text] : []));
  return texts.length === parts.length ? texts.join('\n') : parts;
}

function readFile(part: ChatPart, notes: FitNotes, refuseFile: (filename: string | undefined) => Error): ChatPart {
  if (part.type !== 'file') return part;
  const { file_data: url, filename } = part.file;
  const file = url === undefined ? undefined : readTextFile(url, filename);
  if (!file) throw refuseFile(filename);
  notes.adapted.add('text files');
  return { type: 'text', text: filename === undefined ? file.text : `File ${filename}:\n${file.text}` };
}
