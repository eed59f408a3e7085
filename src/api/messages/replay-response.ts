import type { ResponseEvent } from '../../domain/events.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { ResponseObject } from '../../domain/response.ts';

type Fields = Record<string, unknown>;

/** Returns the events of a complete response: each text is one delta. A buffered run creates only its last event. */
export function replayResponse(response: ResponseObject): ResponseEvent[] {
  const events: ResponseEvent[] = [];
  const push = (type: string, fields: Fields): void => {
    events.push({ type, sequence_number: events.length, ...fields });
  };
  push('response.created', { response });
  for (const [index, item] of response.output.entries()) {
    push('response.output_item.added', { output_index: index, item });
    replayItem(item, (type, fields) => push(type, { output_index: index, ...fields }));
    push('response.output_item.done', { output_index: index, item });
  }
  push(`response.${response.status}`, { response });
  return events;
}

type Push = (type: string, fields: Fields) => void;

function replayItem(item: OutputItem, push: Push): void {
  switch (item.type) {
    case 'message':
      for (const [index, part] of listParts(item['content'])) replayPart(part, index, push);
      return;
    case 'reasoning':
      for (const [index, { text }] of listParts(item['summary'])) {
        push('response.reasoning_summary_text.delta', { summary_index: index, delta: text });
      }
      for (const [index, { text }] of listParts(item['content'])) {
        push('response.reasoning_text.delta', { content_index: index, delta: text });
      }
      return;
    case 'function_call':
      push('response.function_call_arguments.delta', { delta: item['arguments'] });
      return;
  }
}

function replayPart(part: Fields, index: number, push: Push): void {
  const place = { content_index: index };
  push('response.content_part.added', { ...place, part });
  if (part['type'] === 'output_text') push('response.output_text.delta', { ...place, delta: part['text'] });
  else if (part['type'] === 'refusal') push('response.refusal.delta', { ...place, delta: part['refusal'] });
  for (const [, annotation] of listParts(part['annotations'])) {
    push('response.output_text.annotation.added', { ...place, annotation });
  }
  push('response.content_part.done', { ...place, part });
}

const listParts = (parts: unknown): [number, Fields][] =>
  Array.isArray(parts) ? [...(parts as Fields[]).entries()] : [];
