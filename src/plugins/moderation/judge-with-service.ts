import {
  type ConfidenceLevel,
  type ModeratedContent,
  ModerationFailure,
  type ModerationVerdict,
  notFlagged,
} from '../../domain/moderation.ts';
import { type CallService, ServiceError, type ServiceRequest } from '../../domain/service.ts';

/** A service with the common API for moderations. */
export interface ModerationService {
  readonly url: URL;
  readonly apiKey: string | undefined;
  /** Absent: the service chooses. */
  readonly model: string | undefined;
  /** Time limit of all requests for one input together. */
  readonly timeoutMs: number;
  /** Whether it gets images. */
  readonly checksImages: boolean;
}

/** Texts of one request. */
const BATCH = 32;
/** Requests at the same time. */
const PARALLEL = 4;
/** Images of one input. */
const MAX_IMAGES = 20;
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
const MAX_REASONS = 50;
const MAX_REASON_LENGTH = 100;

/**
 * Judges content with a service. Texts are sent in batches and each image in a separate request, because services
 * accept one image per request. Stops at the first flagged content.
 *
 * @throws {ModerationFailure} if the service fails, or cannot judge all of the content; the reason of the signal
 */
export async function judgeWithService(
  call: CallService,
  service: ModerationService,
  content: ModeratedContent,
  signal: AbortSignal,
): Promise<ModerationVerdict> {
  const inputs = listInputs(service, content);
  const deadlineAt = performance.now() + service.timeoutMs;
  const stop = new AbortController();
  let next = 0;
  let found: ModerationVerdict | undefined;
  const work = async (): Promise<void> => {
    while (next < inputs.length && !found) {
      const input = inputs[next++]!;
      const verdict = await judgeInput(call, service, input, deadlineAt, AbortSignal.any([signal, stop.signal]));
      if (!verdict.flagged) continue;
      found ??= verdict;
      stop.abort();
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(PARALLEL, inputs.length) }, work));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!found) {
      stop.abort();
      throw error instanceof ServiceError ? new ModerationFailure(error.message, { cause: error }) : error;
    }
  }
  return found ?? notFlagged;
}

/** The texts of a request, or one image. */
type Input = { texts: readonly string[] } | { image: string };

function listInputs({ checksImages }: ModerationService, { texts, images }: ModeratedContent): Input[] {
  const inputs: Input[] = [];
  for (let at = 0; at < texts.length; at += BATCH) inputs.push({ texts: texts.slice(at, at + BATCH) });
  if (!checksImages) return inputs;
  if (images.length > MAX_IMAGES) throw new ModerationFailure(`At most ${MAX_IMAGES} images can be moderated.`);
  for (const image of images) inputs.push({ image });
  return inputs;
}

async function judgeInput(
  call: CallService,
  { url, apiKey, model, timeoutMs }: ModerationService,
  input: Input,
  deadlineAt: number,
  signal: AbortSignal,
): Promise<ModerationVerdict> {
  const leftMs = Math.ceil(deadlineAt - performance.now());
  if (leftMs <= 0) throw new ServiceError(`${NAME} did not respond within ${timeoutMs} ms.`, 'timeout');
  const request: ServiceRequest = {
    name: NAME,
    url,
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    body: { ...(model !== undefined && { model }), input: writeInput(input) },
  };
  const body = await call(request, { timeoutMs: leftMs, maxBytes: MAX_RESPONSE_BYTES, signal });
  const results = readResults(body, 'texts' in input ? input.texts.length : 1);
  const at = results.findIndex(({ flagged }) => flagged);
  if (at === -1) return notFlagged;
  return { ...readFlagged(results[at]!), text: 'texts' in input ? input.texts[at] : undefined };
}

/** A single text is sent without a list, because every service accepts that. */
function writeInput(input: Input): unknown {
  if ('image' in input) return [{ type: 'image_url', image_url: { url: input.image } }];
  return input.texts.length === 1 ? input.texts[0] : input.texts;
}

const NAME = 'The moderation service';

interface Result {
  flagged: boolean;
  categories?: unknown;
  category_scores?: unknown;
}

/** @throws {ServiceError} unless there is a valid result for each input */
function readResults(body: unknown, count: number): Result[] {
  const { results } = (body ?? {}) as { results?: unknown };
  const isValid =
    Array.isArray(results) &&
    results.length === count &&
    results.every((result: Partial<Result> | null) => typeof result?.flagged === 'boolean');
  if (!isValid) throw new ServiceError(`${NAME} responded without a result for each input.`, 'malformed');
  return results as Result[];
}

function readFlagged({ categories, category_scores: scores }: Result): ModerationVerdict {
  const names = Object.entries(isRecord(categories) ? categories : {}).flatMap(([name, is]) =>
    is === true ? [name] : [],
  );
  const reasons = names.slice(0, MAX_REASONS).map((name) => name.slice(0, MAX_REASON_LENGTH).toWellFormed());
  const known = isRecord(scores) ? scores : {};
  const values = (names.length > 0 ? names.map((name) => known[name]) : Object.values(known)).filter(
    (value) => typeof value === 'number',
  );
  return {
    flagged: true,
    reasons: reasons.length > 0 ? reasons : ['flagged'],
    confidence: values.length === 0 ? undefined : rate(values.reduce((most, value) => Math.max(most, value), 0)),
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** @param score from 0 to 1 */
function rate(score: number): ConfidenceLevel {
  if (score >= 0.8) return 'high';
  return score >= 0.5 ? 'medium' : 'low';
}
