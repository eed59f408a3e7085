import type { EmbeddingInputs, EmbeddingInputType, EmbeddingPart, EmbeddingRequest } from '../../domain/embeddings.ts';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import { isObject } from '../../schema/by-kind.ts';
import { explainIssues } from '../../schema/explain-issues.ts';
import { Report, show } from '../../schema/report.ts';
import { IgnoredFields } from '../ignored-fields.ts';
import { checkSessionId } from '../session-header.ts';
import { type EmbeddingBody, embeddingSchema, inputTypeAliases, isEmbeddingBody } from './schema.ts';

/** Facts about a request that are not in its body. */
export interface RetrievalHints {
  /** The session that a header names. The field `session_id` has precedence. */
  sessionId?: string | undefined;
  /** Maximum number of inputs or documents. */
  maxItems: number;
  /** Name of that limit in the configuration. */
  setting: string;
}

/** A request in the shape that every stage after the edge reads. */
export interface ParsedRetrieval<Q> {
  request: Q;
  /** Unknown fields of the body, for `params.ignored_fields`. */
  ignoredFields: string[];
}

/**
 * Checks a `POST /embeddings` body and normalizes the forms of its input.
 *
 * @throws {GatewayError} `invalid_request`, with every problem in `metadata.issues`
 * @see docs/reference/embeddings.md#request-body
 */
export function readEmbeddingRequest(body: unknown, hints: RetrievalHints): ParsedRetrieval<EmbeddingRequest> {
  if (!isEmbeddingBody(body)) throw invalidRequest([...explainBody(body).issues, ...checkSessionId(hints.sessionId)]);
  const input = readInput(body.input);
  const issues = [...checkSessionId(hints.sessionId), ...checkInput(input, hints), ...checkModels(body)];
  if (issues.length > 0) throw invalidRequest(issues);
  const { model, encoding_format: format, dimensions, input_type: type, provider, user, trace } = body;
  const session = body.session_id ?? (hints.sessionId || undefined);
  const request: EmbeddingRequest = {
    model,
    input,
    format: format ?? 'float',
    ...(dimensions != null && { dimensions }),
    ...(type != null && { inputType: readInputType(type) }),
    ...(provider && { provider }),
    ...(session !== undefined && { session_id: session }),
    ...(user != null && { user }),
    ...(trace && { trace }),
  };
  const ignored = new IgnoredFields();
  noteUnknownFields(body, embeddingSchema.properties, '', ignored);
  if (typeof body.input !== 'string') noteUnknownParts(body.input, ignored);
  return { request, ignoredFields: ignored.list() };
}

/** Notes the fields that an object has and the interface does not know. */
export function noteUnknownFields(object: object, known: object, path: string, ignored: IgnoredFields): void {
  for (const name of Object.keys(object)) if (!Object.hasOwn(known, name)) ignored.add(path, name);
}

/** Notes the unknown fields of inputs with parts. */
function noteUnknownParts(input: readonly unknown[], ignored: IgnoredFields): void {
  if (!isObject(input[0])) return; // all entries of a list are of the same kind, as checked
  for (const [index, entry] of (input as { content: EmbeddingPart[] }[]).entries()) {
    noteUnknownFields(entry, inputFields, `input[${index}]`, ignored);
    for (const [at, part] of entry.content.entries()) {
      const path = `input[${index}].content[${at}]`;
      noteUnknownFields(part, part.type === 'text' ? textFields : imageFields, path, ignored);
      if (part.type === 'image_url') noteUnknownFields(part.image_url, urlFields, `${path}.image_url`, ignored);
    }
  }
}

const inputFields = { content: true };
const textFields = { type: true, text: true };
const imageFields = { type: true, image_url: true };
const urlFields = { url: true };

function explainBody(body: unknown): Report {
  const report = new Report();
  if (!isObject(body)) {
    report.add('', `must be a JSON object, got ${show(body)}`);
    return report;
  }
  const { input, ...rest } = body;
  explainIssues(embeddingSchema, { ...rest, input: '' }, '', report); // the union of inputs has its own sentence
  if (!isEmbeddingBody({ model: 'a', input })) {
    report.add(
      'input',
      `must be a text, a list of texts, a list of token ids, a list of such lists, or a list of objects with \`content\`, each with at least one entry; got ${show(input)}`,
    );
  }
  return report;
}

/** All entries of a list are of the same kind, as checked. */
function readInput(input: EmbeddingBody['input']): EmbeddingInputs {
  if (typeof input === 'string') return { kind: 'text', items: [input] };
  const [first] = input;
  if (typeof first === 'string') return { kind: 'text', items: input as string[] };
  if (typeof first === 'number') return { kind: 'tokens', items: [input as number[]] };
  if (Array.isArray(first)) return { kind: 'tokens', items: input as number[][] };
  const lists = (input as { content: EmbeddingPart[] }[]).map(({ content }) => content);
  return { kind: 'parts', items: lists };
}

const isAlias = (type: string): type is keyof typeof inputTypeAliases => Object.hasOwn(inputTypeAliases, type);
const readInputType = (type: string): EmbeddingInputType =>
  isAlias(type) ? inputTypeAliases[type] : (type as EmbeddingInputType); // as checked

function checkInput({ kind, items }: EmbeddingInputs, { maxItems, setting }: RetrievalHints): Issue[] {
  if (items.length > maxItems) {
    const message = `\`input\` has ${items.length} entries; at most ${maxItems} are allowed (${setting}).`;
    return [{ path: 'input', message }];
  }
  if (kind !== 'parts') return [];
  return items.flatMap((parts, index) =>
    parts.flatMap((part, at): Issue[] => {
      if (part.type === 'text' || isUrl(part.image_url.url)) return [];
      const path = `input[${index}].content[${at}].image_url.url`;
      return [
        { path, message: `\`url\` must be a data URL or an http or https URL, got ${show(part.image_url.url)}.` },
      ];
    }),
  );
}

const isUrl = (url: string): boolean => /^data:/i.test(url) || (/^https?:\/\//i.test(url) && URL.canParse(url));

/** Vectors of two models cannot be compared, so neither a router nor a fallback may choose another model. choice 625 */
function checkModels({ model, models }: EmbeddingBody): Issue[] {
  if (/^(router\/|~)/i.test(model)) {
    const message = `\`model\` is ${show(model)}, which stands for a different model at another time. Vectors of different models cannot be compared. Name a model of GET /api/v1/embeddings/models.`;
    return [{ path: 'model', message }];
  }
  const other = models?.find((each) => nameOf(each) !== nameOf(model));
  if (other === undefined) return [];
  const message = `\`models\` names ${show(other)} besides ${show(model)}. Vectors of different models cannot be compared, so a request has one model. Its other endpoints are the fallback.`;
  return [{ path: 'models', message }];
}

const routingSuffix = /:(?:nitro|floor|exacto|free|online)$/;

/** Returns a slug without its routing suffixes, in time linear in its length. */
function nameOf(slug: string): string {
  const name = slug.toLowerCase();
  let end = name.length;
  for (;;) {
    const start = name.lastIndexOf(':', end - 1);
    if (start === -1 || !routingSuffix.test(name.slice(start, end))) return name.slice(0, end);
    end = start;
  }
}
