import { type Static, Type } from 'typebox';
import { createCheck } from '../../schema/create-check.ts';
import type { Ranked, RerankFinish } from '../../domain/rerank.ts';
import { usage } from '../../domain/usage.ts';

const maybeCount = Type.Optional(Type.Unknown()); // invalid counts do not discard a result
const maybeCounts = Type.Optional(
  Type.Union([
    Type.Object({ total_tokens: maybeCount, input_tokens: maybeCount, search_units: maybeCount }),
    Type.Null(),
  ]),
);
const index = Type.Integer({ minimum: 0 });
/** Some servers name the score as TEI does: CrispStrobe/CrispEmbed#51. */
const ranked = Type.Array(
  Type.Union([Type.Object({ index, relevance_score: Type.Number() }), Type.Object({ index, score: Type.Number() })]),
);
/** The scores of NVIDIA NIM: https://docs.nvidia.com/nim/nemo-retriever/text-reranking/2.3/using-reranking.html */
const logits = Type.Array(Type.Object({ index, logit: Type.Number() }));
/** The response of TEI. */
const checkList = createCheck(Type.Array(Type.Object({ index, score: Type.Number() })));
const rerankBody = Type.Object({
  results: Type.Optional(ranked),
  data: Type.Optional(ranked),
  rankings: Type.Optional(logits),
  model: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  usage: maybeCounts,
  meta: Type.Optional(Type.Union([Type.Object({ billed_units: maybeCounts, tokens: maybeCounts }), Type.Null()])),
});
const check = createCheck(rerankBody);

/**
 * Reads a response in the shape that Cohere, Jina, Voyage and servers like them share. Scores are in `results` or
 * `data`, or in `rankings` of NVIDIA, or the body is a list of them. Costs are search units or tokens.
 *
 * @param count number of documents of the request
 * @throws {Error} if it has another shape, or names a document that is not there; the pipeline reports this as a
 *   failure of the provider
 */
export function readRerankBody(body: unknown, count: number): RerankFinish {
  if (checkList(body)) return { type: 'finish', results: rank(body, count), model: undefined, usage: undefined };
  if (!check(body)) throw new TypeError('The body is not a list of scores.');
  const results = (body.results ?? body.data ?? body.rankings ?? []).map((one): Ranked => {
    if ('logit' in one) return { index: one.index, score: one.logit };
    const score = 'relevance_score' in one ? one.relevance_score : one.score;
    return { index: one.index, score };
  });
  return { type: 'finish', results: rank(results, count), model: body.model ?? undefined, usage: readUsage(body) };
}

/** @throws {TypeError} if they do not name documents, each at most once */
function rank(found: readonly Ranked[], count: number): Ranked[] {
  const indexes = new Set(found.map(({ index }) => index));
  if (found.length === 0 || indexes.size !== found.length || found.some(({ index }) => index >= count)) {
    throw new TypeError('The scores do not match the documents.');
  }
  return found.map(({ index, score }) => ({ index, score })).sort((a, b) => b.score - a.score);
}

function readUsage({ usage: reported, meta }: Static<typeof rerankBody>): RerankFinish['usage'] {
  const places = [reported, meta?.billed_units, meta?.tokens];
  const find = (name: 'search_units' | 'total_tokens' | 'input_tokens'): number | undefined =>
    places.map((place) => place?.[name]).find((count): count is number => Number.isSafeInteger(count));
  const searches = find('search_units');
  const tokens = find('total_tokens') ?? find('input_tokens');
  if (searches === undefined && tokens === undefined) return undefined;
  return usage({
    inputTokens: tokens ?? 0,
    outputTokens: 0,
    ...(searches && { special: { webSearches: searches } }), // choice 629
  });
}
