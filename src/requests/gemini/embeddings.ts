import { type Static, Type } from 'typebox';
import type { EmbeddingInputType, EmbeddingPart, EmbeddingRequest } from '../../domain/embeddings.ts';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import { isObject } from '../../schema/by-kind.ts';
import { createLenientCheck } from '../../schema/create-lenient-check.ts';
import { explainIssues } from '../../schema/explain-issues.ts';
import { Report, show } from '../../schema/report.ts';
import { maybe, openWord } from '../../schema/shapes.ts';
import { type ParsedRetrieval, readEmbeddingRequest, type RetrievalHints } from '../embeddings/request.ts';
import { IgnoredFields } from '../ignored-fields.ts';
import { spellFields } from './spelling.ts';

/** The purposes of the format → those of the interface. */
const inputTypes: ReadonlyMap<string, EmbeddingInputType> = new Map<string, EmbeddingInputType>([
  ['RETRIEVAL_QUERY', 'search_query'],
  ['RETRIEVAL_DOCUMENT', 'search_document'],
  ['CLASSIFICATION', 'classification'],
  ['CLUSTERING', 'clustering'],
  ['SEMANTIC_SIMILARITY', 'semantic_similarity'],
  ['QUESTION_ANSWERING', 'question_answering'],
  ['FACT_VERIFICATION', 'fact_verification'],
  ['CODE_RETRIEVAL_QUERY', 'code_retrieval_query'],
]);

const part = Type.Object({
  text: maybe(Type.String()),
  inlineData: maybe(Type.Object({ mimeType: Type.String(), data: Type.String() })),
});

const taskTypes: ReadonlySet<string> = new Set(['TASK_TYPE_UNSPECIFIED', ...inputTypes.keys()]);

const settings = {
  taskType: maybe(openWord(...taskTypes)),
  title: maybe(Type.String()),
  outputDimensionality: maybe(Type.Integer({ minimum: 1 })),
};

/** The body of `models/{model}:embedContent`. @see docs/reference/gemini.md#embeddings */
export const geminiEmbedSchema = Type.Object({
  content: Type.Object({ parts: Type.Array(part, { minItems: 1 }) }),
  ...settings,
  // The newer place of the same settings. Source: https://ai.google.dev/api/embeddings#EmbedContentConfig
  embedContentConfig: maybe(Type.Object(settings)),
});

/** The body of `models/{model}:batchEmbedContents`. */
export const geminiBatchEmbedSchema = Type.Object({ requests: Type.Array(geminiEmbedSchema, { minItems: 1 }) });

type EmbedBody = Static<typeof geminiEmbedSchema>;

const isEmbed = createLenientCheck(geminiEmbedSchema);
const isBatch = createLenientCheck(geminiBatchEmbedSchema);

const nothing: ReadonlySet<string> = new Set();

/**
 * Reads a body of `embedContent` or `batchEmbedContents`, whose requests must have the same settings.
 *
 * @throws {GatewayError} `invalid_request`, with every problem in `metadata.issues`
 */
export function readGeminiEmbedding(
  body: unknown,
  { model, isBatch: isList }: { model: string; isBatch: boolean },
  hints: RetrievalHints,
): ParsedRetrieval<EmbeddingRequest> {
  spellFields(body, nothing);
  const bodies = isList ? (isBatch(body) ? body.requests : undefined) : isEmbed(body) ? [body] : undefined;
  if (!bodies) throw explain(body, isList);
  const requests = bodies.map(({ embedContentConfig: newer, ...older }) => ({ ...older, ...newer }));
  const [first] = requests as [EmbedBody];
  const issues = requests.flatMap((each, index): Issue[] =>
    (['taskType', 'outputDimensionality'] as const).flatMap((field) => {
      if ((each[field] ?? undefined) === (first[field] ?? undefined)) return [];
      const message = `\`${field}\` must be the same in all requests, got ${show(each[field])} besides ${show(first[field])}.`;
      return [{ path: `requests[${index}].${field}`, message }];
    }),
  );
  for (const [index, { content }] of requests.entries()) {
    for (const [at, { text, inlineData }] of content.parts.entries()) {
      if (text !== undefined || inlineData) continue;
      const path = `${isList ? `requests[${index}].` : ''}content.parts[${at}]`;
      issues.push({ path, message: `\`parts[${at}]\` must have \`text\` or \`inlineData\`.` });
    }
  }
  if (issues.length > 0) throw invalidRequest(issues);
  const type = inputTypes.get(first.taskType ?? '');
  const inputs = requests.map(({ content }) => content.parts.map(writePart));
  const isText = inputs.every((parts) => parts.every((each) => each.type === 'text'));
  const read = readEmbeddingRequest(
    {
      model,
      input: isText
        ? inputs.map((parts) => parts.map((each) => (each.type === 'text' ? each.text : '')).join('\n'))
        : inputs.map((content) => ({ content })),
      ...(first.outputDimensionality && { dimensions: first.outputDimensionality }),
      ...(type && { input_type: type }),
    },
    hints,
  );
  return { ...read, ignoredFields: listIgnored(requests) };
}

const served: ReadonlySet<string> = new Set(['model', 'content', 'outputDimensionality']);

/** Lists the fields without effect, each once. */
function listIgnored(requests: readonly EmbedBody[]): string[] {
  const ignored = new IgnoredFields();
  const names = new Set<string>();
  for (const each of requests) {
    for (const [name, value] of Object.entries(each)) {
      const isKnown = served.has(name) || (name === 'taskType' && taskTypes.has(String(value)));
      if (!isKnown && value && !names.has(name)) ignored.add('', name);
      names.add(name);
    }
  }
  return ignored.list();
}

const writePart = ({ text, inlineData }: Static<typeof part>): EmbeddingPart =>
  inlineData
    ? { type: 'image_url', image_url: { url: `data:${inlineData.mimeType};base64,${inlineData.data}` } }
    : { type: 'text', text: text ?? '' };

function explain(body: unknown, isList: boolean) {
  const report = new Report();
  const [schema, field] = isList ? [geminiBatchEmbedSchema, 'requests'] : [geminiEmbedSchema, 'content'];
  if (!isObject(body)) report.add('', `must be a JSON object, got ${show(body)}`);
  else if (body[field] === undefined) report.add(field, 'is missing');
  else explainIssues(schema, body, '', report);
  if (report.issues.length === 0) report.add('', 'has a shape that the interface does not know');
  return invalidRequest(report.issues);
}
