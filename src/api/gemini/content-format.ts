import type { ResponseEvent } from '../../domain/events.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { ResponseObject } from '../../domain/response.ts';
import { readSealedBytes } from '../../domain/sealed-items.ts';
import { type EventFormat, quoteDelta, type ResponseHeaders, sseHeaders } from '../../http/sse.ts';
import { replayResponse } from '../messages/replay-response.ts';
import { type ContentEvent, ContentEvents, type ContentPart, type GeminiFacts } from './content-events.ts';

type Fields = Record<string, unknown>;

/**
 * Writes the events of a run as responses of the format, each with the parts since the last one: as server-sent events,
 * or as one JSON array. The last one has a part, too, because clients take a response without one for invalid.
 */
export class ContentFormat implements EventFormat {
  readonly end: string;
  /** Blank lines: the Python and Go clients of Google fail at a comment, and JSON may have spaces. */
  readonly keepAlive = '\n\n';
  readonly headers?: ResponseHeaders;
  private readonly events: ContentEvents;
  private readonly isArray: boolean;
  private isFirst = true;
  private ids: Fields = {};
  private suffix = '';

  /** @param isArray whether the body is a JSON array instead of an event stream */
  constructor(facts: GeminiFacts, isArray: boolean) {
    this.events = new ContentEvents(facts);
    this.isArray = isArray;
    this.end = isArray ? ']' : '';
    if (isArray) this.headers = { ...sseHeaders, 'content-type': 'application/json; charset=utf-8' };
  }

  write(event: ResponseEvent): string {
    let text = '';
    for (const each of this.events.take(event)) text += this.writeEvent(each);
    return text;
  }

  private writeEvent(event: ContentEvent): string {
    switch (event.type) {
      case 'start':
        this.ids = { modelVersion: event.model, responseId: event.id };
        this.suffix = `,"role":"model"},"index":0}],${JSON.stringify(this.ids).slice(1)}`;
        return '';
      case 'part':
        return this.frame(`{"candidates":[{"content":{"parts":[${writePart(event.part)}]${this.suffix}`);
      case 'end':
        return this.frame(JSON.stringify(writeResponse([{ text: '' }], event, this.ids)));
      case 'error':
        return this.frame(JSON.stringify({ error: event.error, ...event.response }));
    }
  }

  private frame(json: string): string {
    if (!this.isArray) return `data: ${json.replace(lineEnds, escapeCharacter)}\n\n`;
    const before = this.isFirst ? '[' : ',\r\n';
    this.isFirst = false;
    return before + json;
  }
}

/** Characters at which clients for Python split a line. JSON may contain them. Source: googleapis/python-genai, before version 3 */
const lineEnds = /[\u0085\u2028\u2029]/g;
const escapeCharacter = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

function writePart(part: ContentPart): string {
  const { text } = part;
  for (const name in part) if (name !== 'text') return JSON.stringify(part);
  return `{"text":${quoteDelta(text ?? '')}}`;
}

const writeResponse = (
  parts: readonly ContentPart[],
  { candidate, response }: Extract<ContentEvent, { type: 'end' }>,
  ids: Fields,
): Fields => ({
  candidates: [{ content: { ...(parts.length > 0 && { parts }), role: 'model' }, ...candidate, index: 0 }],
  ...response,
  ...ids,
});

/** Writes a complete response: its events, folded. */
export function foldContent(response: ResponseObject, facts: GeminiFacts): Fields {
  const events = new ContentEvents(facts);
  const parts: ContentPart[] = [];
  let ids: Fields = {};
  for (const event of replayResponse(response)) {
    for (const each of events.take(event)) {
      if (each.type === 'start') ids = { modelVersion: each.model, responseId: each.id };
      else if (each.type === 'part') addPart(parts, each.part);
      else if (each.type === 'end') return writeResponse(parts, each, ids);
    }
  }
  throw new GatewayError('internal', 'The run ended without a terminal event.');
}

/**
 * Adds a part. Neighbors with texts of one kind are one part. The signature of a provider of this format arrives after
 * the text; what the gateway has sealed precedes it.
 */
function addPart(parts: ContentPart[], part: ContentPart): void {
  const last = parts.at(-1);
  const { text, thought, thoughtSignature: signature } = part;
  const isFree = last !== undefined && last.thoughtSignature === undefined && text !== undefined;
  const isOfLast = isFree && text === '' && signature !== undefined && readSealedBytes(signature) === undefined;
  if (isOfLast && (last['inlineData'] || (last.text !== undefined && !last.thought))) last.thoughtSignature = signature;
  else if (last?.text !== undefined && text !== undefined && signature === undefined && last.thought === thought) {
    last.text += text;
  } else parts.push({ ...part });
}
