import type { ResponseEvent } from '../../domain/events.ts';
import { readGeneratedImage } from '../../domain/generated-image.ts';
import type { OutputItem, ReasoningItem } from '../../domain/items.ts';
import { isNativePart, NATIVE_FIELD, type NativeEnd, type NativePart } from '../../domain/native.ts';
import { parseObject } from '../../domain/parse-object.ts';
import type { ResponseObject } from '../../domain/response.ts';
import { PART_BREAK, sealAsBytes } from '../../domain/sealed-items.ts';
import { signatureFormat } from '../../domain/thought-signature.ts';
import { renameMetadata, type RenameFields } from '../../requests/rename-fields.ts';
import { isObject } from '../../schema/by-kind.ts';
import { writeStreamError } from './errors.ts';
import { quotesOutput, writeGrounding } from './grounding.ts';
import { writeGeminiUsage } from './usage.ts';
import { writeLogprobs } from './write-logprobs.ts';

type Fields = Record<string, unknown>;

/** Facts about a run that its events do not contain. */
export interface GeminiFacts {
  readonly rename: RenameFields;
  /** Whether the client wants to read the thoughts. */
  readonly showsThoughts: boolean;
  /** Whether a provider of this format responds. Called at the end of reasoning. */
  isNative(): boolean;
  /** The end as a provider of this format reported it. Called at the last event. */
  readEnd(): NativeEnd | undefined;
}

/** A part of the content. */
export interface ContentPart {
  text?: string;
  thought?: true;
  thoughtSignature?: string;
  [field: string]: unknown;
}

/** Result of an event of a run: parts, and the fields of the last response, or an error. */
export type ContentEvent =
  | { type: 'start'; id: string; model: string }
  | { type: 'part'; part: ContentPart }
  | { type: 'end'; candidate: Fields; response: Fields }
  | { type: 'error'; error: Fields; response: Fields };

/**
 * Turns the events of a run into those of the format. A call is one part. Items that clients return unchanged, such as the
 * reasoning of another provider, are sealed into the signature of the next part, because some clients drop thoughts.
 *
 * @see docs/reference/gemini.md#response
 */
export class ContentEvents {
  private readonly facts: GeminiFacts;
  private out: ContentEvent[] = [];
  /** The signature of the next part. */
  private seal: string | undefined;
  /** A signature of a provider of this format: of the call that follows, otherwise of the part before it. */
  private signature: string | undefined;
  /** The part of reasoning in progress. */
  private thought: string | undefined;
  private debug: unknown;

  constructor(facts: GeminiFacts) {
    this.facts = facts;
  }

  take(event: ResponseEvent): ContentEvent[] {
    this.read(event as unknown as Fields);
    const { out } = this;
    this.out = [];
    return out;
  }

  private read(event: Fields): void {
    switch (event['type']) {
      case 'response.created': {
        const { id, model } = event['response'] as ResponseObject;
        this.out.push({ type: 'start', id, model });
        break;
      }
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        if (event['delta'] !== '') this.addPart({ text: String(event['delta']) });
        break;
      case 'response.reasoning_text.delta':
        this.addThought(event, `content ${String(event['content_index'] ?? 0)}`);
        break;
      case 'response.reasoning_summary_text.delta':
        this.addThought(event, `summary ${String(event['summary_index'] ?? 0)}`);
        break;
      case 'response.output_item.done':
        this.endItem(event['item'] as OutputItem);
        break;
      case 'response.completed':
      case 'response.incomplete':
        this.end(event['response'] as ResponseObject);
        break;
      case 'response.debug':
        this.debug = event['debug'];
        break;
      case 'response.failed':
        this.fail(event['response'] as ResponseObject);
        break;
    }
  }

  private addPart(part: ContentPart): void {
    this.settle();
    if (this.seal !== undefined) part.thoughtSignature = this.seal;
    this.seal = undefined;
    this.out.push({ type: 'part', part });
  }

  /** Writes a signature that no call follows. */
  private settle(): void {
    const { signature } = this;
    if (signature === undefined) return;
    this.signature = undefined;
    this.out.push({ type: 'part', part: { text: '', thoughtSignature: signature } });
  }

  /** Keeps a seal for the next part. An earlier one gets a part of its own. */
  private keepSeal(seal: string): void {
    if (this.seal !== undefined) this.addPart({ text: '' });
    this.seal = seal;
  }

  /** The parts of a summary and of raw reasoning are one text. */
  private addThought(event: Fields, part: string): void {
    if (!this.facts.showsThoughts) return;
    this.settle();
    const place = `${String(event['output_index'])} ${part}`;
    const isNext = this.thought !== undefined && this.thought !== place && isSameItem(this.thought, place);
    this.thought = place;
    const text = `${isNext ? PART_BREAK : ''}${String(event['delta'])}`;
    if (text !== '') this.out.push({ type: 'part', part: { text, thought: true } });
  }

  private endItem(item: OutputItem): void {
    switch (item.type) {
      case 'message':
      case 'mcp_list_tools': // the client has listed the servers
        return;
      case 'reasoning':
        this.endReasoning(item as unknown as ReasoningItem);
        return;
      case 'function_call': {
        const args = parseObject(String(item['arguments'] || '{}'), 'arguments') ?? { arguments: item['arguments'] };
        this.addCall(item, args);
        return;
      }
      case 'custom_tool_call':
        this.addCall(item, { input: String(item['input'] ?? '') });
        return;
      default:
        this.endOther(item);
    }
  }

  private addCall(item: OutputItem, args: object): void {
    const { call_id: id, name, [NATIVE_FIELD]: native } = item;
    const { inner } = (isObject(native) ? native : {}) as { inner?: Fields };
    const { signature } = this;
    this.signature = undefined;
    const part: ContentPart = { functionCall: { id, name, args, ...inner } };
    if (signature !== undefined) part.thoughtSignature = signature;
    if (signature === undefined || this.seal === undefined) this.addPart(part);
    else {
      this.addPart({ text: '' });
      this.out.push({ type: 'part', part });
    }
  }

  private endReasoning(item: ReasoningItem): void {
    if (item.format !== signatureFormat) {
      const { id, status: _, ...rest } = item;
      const isSigned = rest.encrypted_content || rest.signature;
      const hasText = rest.content?.length || rest.summary?.length;
      // The provider of this format signs what it needs again.
      if (isSigned || (hasText && !this.facts.isNative()))
        this.keepSeal(sealAsBytes({ ...rest, ...(rest.encrypted_content ? { id } : {}) }));
      return;
    }
    if (item.encrypted_content === undefined || item.encrypted_content === null) return;
    this.settle();
    this.signature = item.encrypted_content || undefined; // an empty one marks a call without a signature
  }

  /** An item that is neither text, reasoning nor a call of the client's tools. */
  private endOther(item: OutputItem): void {
    const image = item.type === 'image_generation_call' ? readGeneratedImage(item) : undefined;
    if (image) this.addPart({ inlineData: { mimeType: image.mediaType, data: image.data } });
    else if (isNativePart(item)) this.addPart({ ...(item as unknown as NativePart).block });
    else if (item.type !== 'web_search_call' || !this.facts.isNative()) this.keepSeal(sealAsBytes(item));
  }

  private end(response: ResponseObject): void {
    const { output, usage, router_metadata: given } = response;
    if (this.seal !== undefined) this.addPart({ text: '' });
    this.settle();
    const native = this.facts.readEnd();
    const { stop_reason: _, groundingMetadata: theirs, ...fields }: Partial<NativeEnd['delta']> = native?.delta ?? {};
    const grounding = theirs && quotesOutput(theirs, output) ? theirs : writeGrounding(output);
    const logprobs = writeLogprobs(output);
    const counts = writeGeminiUsage(usage, native?.usage);
    this.out.push({
      type: 'end',
      candidate: {
        finishReason: findReason(response, native?.delta.stop_reason),
        ...logprobs,
        ...fields,
        ...(grounding !== undefined && { groundingMetadata: grounding }),
      },
      response: {
        ...native?.fields,
        ...(counts && { usageMetadata: counts }),
        ...(this.debug !== undefined && { debug: this.debug }),
        ...(given && { router_metadata: renameMetadata(given, this.facts.rename) }),
      },
    });
  }

  /** The last event of a failed run. The response has no regular end. */
  private fail({ error, error_type: type = 'server', router_metadata: metadata }: ResponseObject): void {
    const message = this.facts.rename(error?.message ?? 'The response failed.');
    const named = metadata && { router_metadata: renameMetadata(metadata, this.facts.rename) };
    this.out.push({ type: 'error', error: writeStreamError(type, message), response: { ...named } });
  }
}

const isSameItem = (one: string, other: string): boolean => one.split(' ', 1)[0] === other.split(' ', 1)[0];

/** Reasons of an output that a filter has ended. */
const filtered: ReadonlySet<string> = new Set([
  ...['SAFETY', 'RECITATION', 'LANGUAGE', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'IMAGE_SAFETY'],
  ...['IMAGE_PROHIBITED_CONTENT', 'IMAGE_RECITATION', 'MODEL_ARMOR'],
]);

/** @param native the reason of a provider of this format */
function findReason({ status, incomplete_details: cut, output }: ResponseObject, native: string | undefined): string {
  if (status === 'incomplete') {
    if (cut?.reason !== 'content_filter') return 'MAX_TOKENS';
    return native !== undefined && filtered.has(native) ? native : 'SAFETY';
  }
  if (output.some(isRefusal)) return 'SAFETY';
  return native ?? 'STOP';
}

const isRefusal = ({ type, content }: OutputItem): boolean =>
  type === 'message' && Array.isArray(content) && content.some((part) => part?.type === 'refusal');
