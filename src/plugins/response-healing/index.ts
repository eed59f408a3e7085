import type { Chunk } from '../../domain/chunks.ts';
import { BufferedChunks } from '../../domain/buffered-chunks.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { RevisingSink } from '../../domain/reviser.ts';
import type { Sink } from '../../domain/sink.ts';
import type { Plugin, PluginRun } from '../plugin.ts';
import type { JsonRoot } from './heal-json.ts';
import { JsonHealer } from './json-healer.ts';

/**
 * Creates the plugin that repairs the JSON of a buffered response that was requested as JSON. Streams are not repaired, and
 * neither are responses that the token limit truncated: these lack more than syntax.
 *
 * @see docs/reference/plugins.md
 */
export function createResponseHealing(): Plugin {
  const healer = new JsonHealer();
  return {
    id: 'response-healing',
    prepare(run) {
      const format = run.request.text?.format;
      const mode = format?.type;
      if (run.request.stream || !format || (mode !== 'json_object' && mode !== 'json_schema')) return undefined;
      return { open: (_run, out) => new HealingSink({ run, mode, root: readRoot(format), healer }, out) };
    },
  };
}

type JsonFormat = NonNullable<NonNullable<ResponseRequest['text']>['format']>;

/** @returns undefined: the schema permits both */
function readRoot(format: JsonFormat): JsonRoot | undefined {
  if (format.type !== 'json_schema') return 'object';
  const { type } = format.schema as { type?: unknown };
  return type === 'object' || type === 'array' ? type : undefined;
}

interface Healing {
  run: PluginRun;
  mode: string;
  root: JsonRoot | undefined;
  healer: JsonHealer;
}

/** Buffers a response until its end, because only complete JSON can be repaired. A longer one stays unchanged. */
class HealingSink implements RevisingSink {
  private readonly healing: Healing;
  private readonly out: Sink<Chunk>;
  private readonly buffer = new BufferedChunks(MAX_HEALED_CHARACTERS);
  private isTooLong = false;
  private isAbandoned = false;

  constructor(healing: Healing, out: Sink<Chunk>) {
    this.healing = healing;
    this.out = out;
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    if (this.isTooLong) return this.out.write(chunks);
    this.isTooLong = !this.buffer.add(chunks);
    const isEnd = chunks.at(-1)?.type === 'finish';
    if (!isEnd && !this.isTooLong) return undefined;
    const all = this.buffer.release();
    if (this.isTooLong || isCut(all)) return this.out.write(all);
    return this.writeHealed(all);
  }

  abandon(): void {
    this.buffer.release();
    this.isAbandoned = true;
  }

  private writeHealed(chunks: Chunk[]): Promise<void> | undefined {
    const healed = healTexts(listTexts(chunks), this.healing);
    if (!(healed instanceof Promise)) return this.out.write(replaceTexts(chunks, healed));
    return healed.then((texts) => (this.isAbandoned ? undefined : this.out.write(replaceTexts(chunks, texts))));
  }
}

/** Maximum characters of a response to repair. */
const MAX_HEALED_CHARACTERS = 16 * 1024 * 1024;

const isCut = (chunks: readonly Chunk[]): boolean =>
  chunks.some((chunk) => chunk.type === 'finish' && chunk.reason !== 'stop');

type Healed = ReadonlyMap<string, string>;

/** Heals the different texts of a response. Those that were changed, and those that could not be, have a stage. */
function healTexts(texts: ReadonlySet<string>, { run, mode, root, healer }: Healing): MaybePromise<Healed> {
  const options = { root, workspaceId: run.caller.workspaceId, cancellation: run.cancellation };
  const results = [...texts].map((text) => healer.heal(text, options));
  const collect = (healed: readonly (string | undefined)[]): Healed => {
    const found = new Map<string, string>();
    for (const [index, text] of [...texts].entries()) {
      const result = healed[index];
      if (result === text) continue;
      if (result !== undefined) found.set(text, result);
      run.stages.push({
        type: 'response_healing',
        name: 'response-healing',
        summary: `The JSON of the response ${result === undefined ? 'could not be' : 'was'} repaired.`,
        data: {
          mode,
          improved: result !== undefined,
          original_length: text.length,
          healed_length: (result ?? text).length,
        },
      });
    }
    return found;
  };
  return results.some((result) => result instanceof Promise)
    ? Promise.all(results).then(collect)
    : collect(results as (string | undefined)[]); // none is a promise
}

/** Texts of messages by their keys. A response without keys has one. */
function joinDeltas(chunks: readonly Chunk[]): Map<unknown, string> {
  const texts = new Map<unknown, string>();
  for (const chunk of chunks) {
    if (chunk.type === 'text') texts.set(chunk.key, (texts.get(chunk.key) ?? '') + chunk.delta);
  }
  return texts;
}

/** Texts are in chunks, in whole items, or in both. */
function listTexts(chunks: readonly Chunk[]): Set<string> {
  const texts = new Set(joinDeltas(chunks).values());
  for (const chunk of chunks) {
    if (chunk.type !== 'item_done') continue;
    changeTexts(chunk.item, (text) => {
      texts.add(text);
      return text;
    });
  }
  return texts;
}

function replaceTexts(chunks: readonly Chunk[], healed: Healed): Chunk[] {
  const texts = joinDeltas(chunks);
  return chunks.flatMap((chunk): Chunk[] => {
    if (chunk.type === 'part_done' && chunk.part.type === 'output_text') return []; // its item has the same text
    if (chunk.type === 'item_done') {
      return [{ ...chunk, item: changeTexts(chunk.item, (text) => healed.get(text) ?? text) }];
    }
    if (chunk.type !== 'text') return [chunk];
    const text = texts.get(chunk.key);
    const whole = text === undefined ? undefined : healed.get(text);
    if (text !== undefined && whole === undefined) return [chunk];
    texts.delete(chunk.key);
    return whole === undefined ? [] : [{ ...chunk, delta: whole }];
  });
}

function changeTexts(item: OutputItem, change: (text: string) => string): OutputItem {
  if (item.type !== 'message' || !Array.isArray(item['content'])) return item;
  return {
    ...item,
    content: item['content'].map((part: { type?: unknown; text?: unknown }) =>
      part.type === 'output_text' && typeof part.text === 'string' ? { ...part, text: change(part.text) } : part,
    ),
  };
}
