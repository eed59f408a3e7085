import type { DeltaEvent, OtherEvent, ResponseEvent } from '../../domain/events.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { ResponseObject } from '../../domain/response.ts';
import { DONE, type EventFormat, KEEP_ALIVE, quoteDelta } from '../../http/sse.ts';
import { isTerminal } from '../../pipeline/events/fold-events.ts';
import type { ChatFacts } from '../chat-completions/chat-facts.ts';
import { writeChatFailure } from '../chat-completions/errors.ts';
import {
  appendFields,
  type ChatFinishReason,
  partsOfItem,
  TEXT_GAP,
  writeChatUsage,
  writeEnding,
  writeFinishReason,
} from '../chat-completions/write-parts.ts';

/** Log probabilities in the older form: one list for each field. */
interface TextLogprobs {
  tokens: unknown[];
  token_logprobs: unknown[];
  top_logprobs: (object | null)[];
  text_offset: number[];
}

/** Writes a response as a whole text completion. @see docs/reference/completions.md */
export function writeTextCompletion(response: ResponseObject, facts: ChatFacts): object {
  let text = '';
  const tokens: unknown[] = [];
  const thoughts: string[] = [];
  for (const item of response.output) {
    if (item.type === 'reasoning') for (const thought of readThoughts(item)) thoughts.push(thought);
    if (item.type !== 'message') continue;
    const parts = partsOfItem(item, 'content');
    const said = parts.map((part) => String(part['text'] ?? part['refusal'] ?? '')).join('');
    text += (text !== '' && said !== '' ? TEXT_GAP : '') + said;
    for (const { logprobs } of parts) if (Array.isArray(logprobs)) for (const token of logprobs) tokens.push(token);
  }
  const reasoning = thoughts.join(TEXT_GAP);
  return {
    ...writeFacts(facts, response.model),
    choices: [
      {
        index: 0,
        text,
        ...(reasoning !== '' && !facts.hidesReasoning && { reasoning }),
        logprobs: tokens.length > 0 ? writeTextLogprobs(tokens, 0) : null,
        finish_reason: writeTextEnd(response),
        native_finish_reason: facts.findNativeReason() ?? null,
      },
    ],
    ...(response.usage && { usage: writeChatUsage(response.usage) }),
    ...writeEnding(response, facts),
  };
}

/** A text completion has no tools, so a call of the model only ends the text. */
function writeTextEnd(response: ResponseObject): ChatFinishReason {
  const reason = writeFinishReason(response, false);
  return reason === 'tool_calls' ? 'stop' : reason;
}

const readThoughts = (item: OutputItem): string[] =>
  [...partsOfItem(item, 'summary'), ...partsOfItem(item, 'content')]
    .map((part) => String(part['text'] ?? ''))
    .filter((thought) => thought !== '');

const writeFacts = ({ id, created, findProvider }: ChatFacts, model: string) => ({
  id,
  object: 'text_completion',
  created,
  model,
  provider: findProvider(),
});

/** @param offset position of the first token in the text */
function writeTextLogprobs(tokens: readonly unknown[], offset: number): TextLogprobs {
  const lists: TextLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
  let at = offset;
  for (const entry of tokens as {
    token: string;
    logprob: number;
    top_logprobs?: { token: string; logprob: number }[];
  }[]) {
    lists.tokens.push(entry.token);
    lists.token_logprobs.push(entry.logprob);
    const top = entry.top_logprobs ?? [];
    lists.top_logprobs.push(
      top.length > 0 ? Object.fromEntries(top.map(({ token, logprob }) => [token, logprob])) : null,
    );
    lists.text_offset.push(at);
    at += String(entry.token).length;
  }
  return lists;
}

/** Writes the events of a response as chunks of a text completion. @see docs/reference/completions.md */
export class TextChunkWriter implements EventFormat {
  readonly end = DONE;
  readonly keepAlive = KEEP_ALIVE;
  private readonly facts: ChatFacts;
  private model: string;
  private head = '';
  private readonly messages = new Set<number>();
  private lastItem = -1;
  /** The part of the last text of reasoning. */
  private lastThought = '';
  private length = 0;

  constructor(facts: ChatFacts) {
    this.facts = facts;
    this.model = facts.requested;
  }

  write(event: ResponseEvent): string {
    switch (event.type) {
      case 'response.created':
        this.model = (event as { response: ResponseObject }).response.model;
        this.head = `${this.writeHead()}{"index":0,`;
        return '';
      case 'response.output_item.added': {
        const { item, output_index: at } = event as unknown as { item: OutputItem; output_index: number };
        if (item.type === 'message') this.messages.add(at);
        return '';
      }
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return this.writeText(event as DeltaEvent);
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta': {
        if (this.facts.hidesReasoning) return '';
        return `${this.head}"text":"","reasoning":${this.quoteThought(event as DeltaEvent)}${this.tail}`;
      }
      case 'response.debug':
        return `${this.writeHead()}],"debug":${JSON.stringify((event as OtherEvent)['debug'])}}\n\n`;
      default:
        return isTerminal(event) ? this.finish(event.response) : '';
    }
  }

  private get tail(): string {
    return ',"logprobs":null,"finish_reason":null,"native_finish_reason":null}]}\n\n';
  }

  private writeHead(): string {
    return `data: ${JSON.stringify(writeFacts(this.facts, this.model)).slice(0, -1)},"choices":[`;
  }

  private writeText({ output_index: at, delta, logprobs }: DeltaEvent): string {
    if (!this.messages.has(at)) return '';
    const text = at !== this.lastItem && this.length > 0 ? TEXT_GAP + delta : delta;
    this.lastItem = at;
    const start = this.length + text.length - delta.length;
    this.length += text.length;
    if (!logprobs?.length) return `${this.head}"text":${quoteDelta(text)}${this.tail}`;
    const lists = JSON.stringify(writeTextLogprobs(logprobs, start));
    return `${this.head}"text":${quoteDelta(text)},"logprobs":${lists},"finish_reason":null,"native_finish_reason":null}]}\n\n`;
  }

  /** Quotes a text of reasoning, with the gap after an earlier part. */
  private quoteThought(event: DeltaEvent): string {
    const { output_index: item, summary_index: summary, content_index: content, delta } = event;
    if (delta === '') return '""';
    const part = `${item}/${summary === undefined ? `c${content}` : `s${summary}`}`;
    const hasGap = this.lastThought !== '' && part !== this.lastThought;
    this.lastThought = part;
    return quoteDelta(hasGap ? TEXT_GAP + delta : delta);
  }

  private finish(response: ResponseObject): string {
    const { facts } = this;
    const isFailed = response.status === 'failed';
    const failure = isFailed ? writeChatFailure(response, facts) : undefined;
    const choice = {
      index: 0,
      text: '',
      logprobs: null,
      finish_reason: writeTextEnd(response),
      native_finish_reason: isFailed ? null : (facts.findNativeReason() ?? null),
    };
    const ending = {
      ...failure,
      ...((facts.includesUsage || isFailed) && response.usage && { usage: writeChatUsage(response.usage) }),
      ...writeEnding(response, facts),
    };
    const last = `${this.writeHead()}${JSON.stringify(choice)}]${appendFields(ending)}\n\n`;
    return failure ? `event: error\ndata: ${JSON.stringify(failure)}\n\n${last}` : last; // choice 608
  }
}
