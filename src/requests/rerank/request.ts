import { type Issue, invalidRequest } from '../../domain/errors.ts';
import type { RerankRequest } from '../../domain/rerank.ts';
import { isObject } from '../../schema/by-kind.ts';
import { explainIssues } from '../../schema/explain-issues.ts';
import { Report, show } from '../../schema/report.ts';
import { noteUnknownFields, type ParsedRetrieval, type RetrievalHints } from '../embeddings/request.ts';
import { IgnoredFields } from '../ignored-fields.ts';
import { checkSessionId } from '../session-header.ts';
import { isRerankBody, type RerankBody, rerankSchema } from './schema.ts';

/**
 * Checks a `POST /rerank` body and normalizes its documents.
 *
 * @throws {GatewayError} `invalid_request`, with every problem in `metadata.issues`
 * @see docs/reference/rerank.md#request-body
 */
export function readRerankRequest(body: unknown, hints: RetrievalHints): ParsedRetrieval<RerankRequest> {
  const problems = checkSessionId(hints.sessionId);
  if (!isRerankBody(body)) throw invalidRequest([...explainBody(body).issues, ...problems]);
  const all = [...problems, ...checkDocuments(body, hints)];
  if (all.length > 0) throw invalidRequest(all);
  const { model, models, query, documents, top_n: topN, return_documents: returned, provider, user, trace } = body;
  const session = body.session_id ?? (hints.sessionId || undefined);
  const request: RerankRequest = {
    model,
    query,
    documents: documents.map((document) => (typeof document === 'string' ? document : document.text)),
    returnsDocuments: returned ?? true,
    ...(models && { models }),
    ...(topN != null && { topN: Math.min(topN, documents.length) }),
    ...(body.max_tokens_per_doc != null && { maxTokensPerDocument: body.max_tokens_per_doc }),
    ...(provider && { provider }),
    ...(session !== undefined && { session_id: session }),
    ...(user != null && { user }),
    ...(trace && { trace }),
  };
  return { request, ignoredFields: listIgnored(body) };
}

/** Lists the unknown fields of the body and of its documents. Only the text of a document is ranked. */
function listIgnored(body: RerankBody): string[] {
  const ignored = new IgnoredFields();
  noteUnknownFields(body, rerankSchema.properties, '', ignored);
  for (const [index, document] of body.documents.entries()) {
    if (typeof document !== 'string') noteUnknownFields(document, documentFields, `documents[${index}]`, ignored);
  }
  return ignored.list();
}

const documentFields = { text: true };

function explainBody(body: unknown): Report {
  const report = new Report();
  if (isObject(body)) explainIssues(rerankSchema, body, '', report);
  else report.add('', `must be a JSON object, got ${show(body)}`);
  // A body that failed its check is rejected, even if there is no explanation.
  if (report.issues.length === 0) report.add('', 'has a shape that the interface does not know');
  return report;
}

function checkDocuments({ documents }: RerankBody, { maxItems, setting }: RetrievalHints): Issue[] {
  if (documents.length <= maxItems) return [];
  const message = `\`documents\` has ${documents.length} entries; at most ${maxItems} are allowed (${setting}).`;
  return [{ path: 'documents', message }];
}
