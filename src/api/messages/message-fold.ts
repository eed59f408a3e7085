import { GatewayError } from '../../domain/errors.ts';
import { parseObject } from '../../domain/parse-object.ts';
import type { BlockDelta, ContentBlock, FoldedMessage, MessageEvent } from './wire.ts';

/** Folds the events of a message into the message. A buffered response is the same stream, folded. */
export class MessageFold {
  private message: FoldedMessage | undefined;
  private isComplete = false;
  /** Arguments of calls so far, by block. */
  private readonly inputs = new Map<ContentBlock, string>();
  /** Citations so far, by block. */
  private readonly citations = new Map<ContentBlock, unknown[]>();

  add(event: MessageEvent): void {
    switch (event.type) {
      case 'message_start':
        this.message = event.message;
        return;
      case 'content_block_start':
        this.message?.content.push({ ...event.content_block });
        return;
      case 'content_block_delta':
        this.addDelta(this.message?.content[event.index], event.delta);
        return;
      case 'content_block_stop':
        this.endBlock(this.message?.content[event.index]);
        return;
      case 'message_delta': {
        const { type: _, delta, usage, ...fields } = event;
        if (this.message) Object.assign(this.message, fields, delta, { usage: { ...this.message.usage, ...usage } });
        return;
      }
      case 'message_stop': {
        const { type: _, ...fields } = event;
        if (this.message) Object.assign(this.message, fields);
        this.isComplete = true;
        return;
      }
    }
  }

  /** @throws {GatewayError} `internal` if the events did not end regularly */
  get folded(): FoldedMessage {
    if (this.message && this.isComplete) return this.message;
    throw new GatewayError('internal', 'The run ended without a terminal event.');
  }

  private addDelta(block: ContentBlock | undefined, delta: BlockDelta): void {
    if (!block) return;
    switch (delta.type) {
      case 'text_delta':
        block['text'] = `${String(block['text'])}${delta.text}`;
        return;
      case 'thinking_delta':
        block['thinking'] = `${String(block['thinking'])}${delta.thinking}`;
        return;
      case 'signature_delta':
        block['signature'] = delta.signature;
        return;
      case 'input_json_delta':
        this.inputs.set(block, (this.inputs.get(block) ?? '') + delta.partial_json);
        return;
      case 'citations_delta':
        this.addCitation(block, delta.citation);
        return;
    }
  }

  /** The first citation copies the list of the event, which the fold must not change. */
  private addCitation(block: ContentBlock, citation: unknown): void {
    let list = this.citations.get(block);
    if (!list) {
      list = [...((block['citations'] as unknown[] | undefined) ?? [])];
      block['citations'] = list;
      this.citations.set(block, list);
    }
    list.push(citation);
  }

  /** Arguments that are no object, such as interrupted ones, are an object with the text. */
  private endBlock(block: ContentBlock | undefined): void {
    const text = block && this.inputs.get(block);
    if (block && text) block['input'] = parseObject(text, 'arguments') ?? { arguments: text };
  }
}
