import { createHash } from 'node:crypto';
import { type CallService, ServiceError } from '../../domain/service.ts';
import type { EntityRecognizer, RecognizedEntity, RecognizedType, RecognizerLimits } from './recognizer.ts';

export interface PresidioSettings {
  /** Base URL: `/analyze` is added. */
  readonly url: string;
  readonly language: string;
  /** From 0 to 1. */
  readonly minScore: number;
}

/** For messages. */
const NAME = 'The analyzer of guardrails.analyzer_url';
/** Bytes of a response: about 20,000 findings. */
const MAX_BYTES = 4 * 1024 * 1024;
/** Findings of one text. */
const MAX_ENTITIES = 10_000;
/** Texts whose findings are remembered: a conversation sends most of its texts again with each request. */
const MAX_REMEMBERED = 2000;

/**
 * Creates the client of a Presidio analyzer: `POST /analyze`. It remembers the findings of the last texts, but not the
 * texts.
 *
 * @param settings undefined: there is no analyzer. A new object discards what is remembered
 */
export function createPresidioRecognizer(
  call: CallService,
  settings: () => PresidioSettings | undefined,
): EntityRecognizer {
  let current: PresidioSettings | undefined;
  const remembered = new Map<string, RecognizedEntity[]>();

  async function analyze(
    { url, language, minScore }: PresidioSettings,
    text: string,
    types: readonly RecognizedType[],
    limits: RecognizerLimits,
  ): Promise<RecognizedEntity[]> {
    const body = { text, language, entities: types, score_threshold: minScore };
    const request = { name: NAME, url: new URL(`${url.replace(/\/+$/, '')}/analyze`), headers: {}, body };
    return readEntities(await call(request, { ...limits, maxBytes: MAX_BYTES }), text, types, minScore);
  }

  return {
    engine: 'presidio',
    async recognize(text, types, limits) {
      const now = settings();
      if (!now) throw new ServiceError(`${NAME} is not configured.`, 'unreachable');
      if (now !== current) remembered.clear();
      current = now;
      const key = createHash('sha256').update(types.join()).update(text).digest('base64');
      const known = remembered.get(key);
      const entities = known ?? (await analyze(now, text, types, limits));
      remembered.delete(key);
      if (now === current) remembered.set(key, entities);
      if (remembered.size > MAX_REMEMBERED) remembered.delete(remembered.keys().next().value!);
      return entities;
    },
  };
}

/** @throws {ServiceError} if it is not what the API promises: such a response must not count as one without findings */
function readEntities(
  body: unknown,
  text: string,
  types: readonly RecognizedType[],
  minScore: number,
): RecognizedEntity[] {
  if (!Array.isArray(body)) throw malformed('a list');
  if (body.length > MAX_ENTITIES) throw malformed(`at most ${MAX_ENTITIES} findings`);
  const found = body.map((entry: unknown) => readEntity(entry));
  const wanted = found.filter(({ type, score }) => types.some((each) => each === type) && score >= minScore);
  const positions = createPositions(text);
  return wanted
    .map(({ type, start, end }) => {
      const [from, to] = [positions(start), positions(end)];
      if (from === undefined || to === undefined) throw malformed('findings within the text');
      return { type: type as RecognizedType, start: from, end: to }; // one of `types`
    })
    .sort((a, b) => a.start - b.start || b.end - a.end);
}

function readEntity(entry: unknown): { type: string; start: number; end: number; score: number } {
  const { entity_type: type, start, end, score } = (entry ?? {}) as Record<string, unknown>;
  const isSpan = Number.isInteger(start) && Number.isInteger(end) && 0 <= Number(start) && Number(start) < Number(end);
  if (typeof type !== 'string' || !isSpan || typeof score !== 'number') {
    throw malformed('findings with `entity_type`, `start`, `end` and `score`');
  }
  return { type, start: Number(start), end: Number(end), score };
}

const malformed = (expected: string): ServiceError =>
  new ServiceError(`${NAME} did not return ${expected}.`, 'malformed');

/** Returns a function from positions in code points, which the API has, to UTF-16. Undefined: beyond the text. */
function createPositions(text: string): (codePoints: number) => number | undefined {
  if (!/[\ud800-\udbff]/.test(text)) return (at) => (at <= text.length ? at : undefined);
  const starts: number[] = [];
  let at = 0;
  for (const character of text) {
    starts.push(at);
    at += character.length;
  }
  starts.push(at);
  return (codePoints) => starts[codePoints];
}
