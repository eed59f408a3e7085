import type { Seen } from './seen.ts';

/*
 * Clients of the three APIs. They know the public formats and nothing of the gateway.
 */

// biome-ignore lint/suspicious/noExplicitAny: a response is data of a foreign shape
type Json = any;

/** The data of each server-sent event. Checks that names of events are their types. */
export function readEvents(text: string): Json[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith(':'))
    .map((frame) => {
      const lines = frame.split('\n');
      const data = lines.find((line) => line.startsWith('data: '))!.slice('data: '.length);
      if (data === '[DONE]') return data;
      const event = JSON.parse(data) as Json;
      const name = lines.find((line) => line.startsWith('event: '))?.slice('event: '.length);
      if (name !== undefined && name !== event.type && !(name === 'error' && 'error' in event))
        throw new Error(`The event ${name} has the type ${event.type}.`);
      return event;
    });
}

const parseInput = (text: string): unknown => JSON.parse(text || '{}');

/** Reads a response object, or the events that end in one: texts and arguments come from the deltas. */
export function readResponseSeen(body: string, isStreamed: boolean): Seen {
  const events = isStreamed ? readEvents(body) : [];
  const raw: Json = isStreamed ? events.findLast((event) => event.response).response : JSON.parse(body);
  const join = (type: string, keep = (_: Json): boolean => true) =>
    events.flatMap((event) => (event.type === type && keep(event) ? [event.delta] : [])).join('');
  const items: Json[] = isStreamed
    ? events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []))
    : raw.output;
  const parts = items.flatMap((item) => (item.type === 'message' ? item.content : []));
  const thoughts = items.filter(({ type }) => type === 'reasoning');
  const whole = {
    text: parts.map((part) => part.text ?? '').join(''),
    refusal: parts.map((part) => part.refusal ?? '').join(''),
    reasoning: thoughts
      .flatMap(({ summary, content = [] }) => [...summary, ...content].map(({ text }) => text))
      .join(''),
  };
  const streamed = isStreamed && {
    text: join('response.output_text.delta'),
    refusal: join('response.refusal.delta'),
    reasoning: join('response.reasoning_summary_text.delta') + join('response.reasoning_text.delta'),
  };
  const calls = items
    .filter(({ type }) => type === 'function_call')
    .map((item) => {
      const streamedText = join('response.function_call_arguments.delta', ({ item_id: id }) => id === item.id);
      return { id: item.call_id, name: item.name, input: parseInput(isStreamed ? streamedText : item.arguments) };
    });
  return {
    ...whole,
    ...streamed,
    opaque: thoughts.flatMap(({ signature, encrypted_content: data }) => [signature, data].filter(Boolean)),
    calls,
    images: items.flatMap(({ type, result }) => (type === 'image_generation_call' ? [result] : [])),
    cited: parts.flatMap((part) => (part.annotations ?? []).map((each: Json) => each.url ?? each.filename ?? '')),
    end: raw.incomplete_details ? `${raw.status}: ${raw.incomplete_details.reason}` : raw.status,
    usage: raw.usage ? [raw.usage.input_tokens, raw.usage.output_tokens] : undefined,
    raw,
  };
}

/** Reads a completion, or joins its chunks: texts are appended, entries of lists with one `index` are one entry. */
export function readChatSeen(body: string, isStreamed: boolean): Seen {
  const chunks = isStreamed ? readEvents(body).filter((chunk) => chunk !== '[DONE]') : [JSON.parse(body)];
  const message: Json = {};
  let end = '';
  let usage: Json;
  for (const chunk of chunks) {
    usage = chunk.usage ?? usage;
    for (const choice of chunk.choices ?? []) {
      merge(message, choice.delta ?? choice.message);
      end = choice.finish_reason ?? end;
    }
  }
  const details: Json[] = message.reasoning_details ?? [];
  return {
    text: message.content ?? '',
    reasoning: message.reasoning ?? '',
    opaque: details.flatMap(({ signature, data }) => [signature, data].filter(Boolean)),
    calls: (message.tool_calls ?? []).map((call: Json) => ({
      id: call.id,
      name: call.function.name,
      input: parseInput(call.function.arguments),
    })),
    images: (message.images ?? []).map((image: Json) => image.image_url.url.replace(/^data:[^,]*,/, '')),
    cited: [
      ...(message.annotations ?? []).map((each: Json) => each.url_citation.url),
      ...(message.file_annotations ?? []).map((each: Json) => each.filename),
    ],
    refusal: message.refusal ?? '',
    end,
    usage: usage && [usage.prompt_tokens, usage.completion_tokens],
    raw: message,
  };
}

const constant = new Set(['type', 'id', 'format', 'role', 'index', 'name']);

function merge(target: Json, delta: Json): void {
  for (const [key, value] of Object.entries<Json>(delta)) {
    const known = target[key];
    if (known === undefined || known === null || constant.has(key)) {
      target[key] = Array.isArray(value) ? [] : value;
      if (Array.isArray(value)) mergeList(target[key], value);
    } else if (typeof value === 'string') target[key] = known + value;
    else if (Array.isArray(value)) mergeList(known, value);
    else if (value !== null) merge(known, value);
  }
}

function mergeList(target: Json[], entries: Json[]): void {
  for (const entry of entries) {
    const known = entry.index === undefined ? undefined : target.find(({ index }) => index === entry.index);
    if (known) merge(known, entry);
    else target.push(structuredClone(entry));
  }
}

/** Reads a message, or folds its events. */
export function readMessageSeen(body: string, isStreamed: boolean): Seen {
  const raw = isStreamed ? foldEvents(readEvents(body)) : (JSON.parse(body) as Json);
  const blocks: Json[] = raw.content;
  const join = (field: string) => blocks.map((block) => block[field] ?? '').join('');
  return {
    text: join('text'),
    reasoning: join('thinking'),
    opaque: blocks.flatMap(({ signature, data }) => [signature, data].filter(Boolean)),
    calls: blocks.filter(({ type }) => type === 'tool_use').map(({ id, name, input }) => ({ id, name, input })),
    images: [],
    cited: blocks
      .flatMap(({ citations }) => citations ?? [])
      .map((each: Json) => each.url ?? each.document_title ?? ''),
    refusal: raw.stop_details?.explanation ?? '',
    end: raw.stop_reason ?? '',
    usage: raw.usage && [raw.usage.input_tokens, raw.usage.output_tokens],
    raw,
  };
}

function foldEvents(events: Json[]): Json {
  let message: Json;
  const inputs = new Map<number, string>();
  for (const event of events) {
    const block = message?.content[event.index];
    if (event.type === 'message_start') message = event.message;
    else if (event.type === 'content_block_start') message.content[event.index] = event.content_block;
    else if (event.type === 'content_block_delta') {
      const { type: _, partial_json: json, citation, ...texts } = event.delta;
      for (const [field, text] of Object.entries(texts)) block[field] = (block[field] ?? '') + text;
      if (json !== undefined) inputs.set(event.index, (inputs.get(event.index) ?? '') + json);
      if (citation) block.citations = [...(block.citations ?? []), citation];
    } else if (event.type === 'content_block_stop') {
      if (inputs.has(event.index)) block.input = parseInput(inputs.get(event.index)!);
    } else if (event.type === 'message_delta') {
      const { delta, usage } = event;
      message = { ...message, ...delta, usage: { ...message.usage, ...usage } };
    }
  }
  return message;
}
