import type { Chunk } from '../../domain/chunks.ts';
import { BufferedChunks } from '../../domain/buffered-chunks.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import { listTexts, replaceTexts } from '../../domain/message-texts.ts';
import type { RevisingSink } from '../../domain/reviser.ts';
import type { Sink } from '../../domain/sink.ts';
import type { Plugin, PluginRun } from '../plugin.ts';
import type { JsonRoot } from './heal-json.ts';
import { type JsonHealer, readRoot } from './json-healer.ts';

export interface HealingPorts {
  healer: JsonHealer;
}

/**
 * Creates the plugin that repairs the JSON of a buffered response that was requested as JSON. Streams are not repaired, and
 * neither are responses that the token limit truncated: these lack more than syntax.
 *
 * @see docs/reference/plugins.md
 */
export function createResponseHealing({ healer }: HealingPorts): Plugin {
  return {
    id: 'response-healing',
    prepare(run) {
      const format = run.request.text?.format;
      if (run.request.stream || !format || format.type === 'text') return undefined;
      const { type: mode } = format;
      return { open: (_run, out) => new HealingSink({ run, mode, root: readRoot(format), healer }, out) };
    },
  };
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
