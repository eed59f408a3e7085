import { parentPort } from 'node:worker_threads';
import { DEFAULT_ENCODING, modelToEncodingMap } from 'gpt-tokenizer/mapping';

/** Texts whose tokens are counted. */
export interface CountJob {
  readonly id: number;
  /** The name of the model at its author. */
  readonly model: string;
  readonly texts: readonly string[];
}

export interface CountResult {
  readonly id: number;
  /** Undefined: the tokenizer failed. */
  readonly tokens: number | undefined;
}

type Count = (text: string, options: { disallowedSpecial: ReadonlySet<string> }) => number;

/** Texts may contain the names of special tokens. These are then ordinary text. */
const options = { disallowedSpecial: new Set<string>() };

/** The thread that counts tokens. It loads a tokenizer when a model needs it. */
parentPort?.on('message', async ({ id, model, texts }: CountJob) => {
  parentPort?.postMessage({ id, tokens: await countTexts(model, texts).catch(() => undefined) } satisfies CountResult);
});

async function countTexts(model: string, texts: readonly string[]): Promise<number> {
  const encodings = modelToEncodingMap as Readonly<Record<string, string | undefined>>;
  const encoding = encodings[model] ?? DEFAULT_ENCODING;
  // the library has a module for each name in its map
  const { countTokens } = (await import(`gpt-tokenizer/encoding/${encoding}`)) as { countTokens: Count };
  return texts.reduce((sum, text) => sum + countTokens(text, options), 0);
}
