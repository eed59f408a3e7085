import type { GatewayError } from '../../domain/errors.ts';
import type { UpstreamErrorResponse } from '../wire.ts';
import { readUpstreamError } from '../errors/upstream-error.ts';

const accountWords = /\b(?:credits?|balance|api units?)\b/i;
const contentWords = /moderat|nsfw|prohibited content|content polic|violates/i;

/** Maximum length of a message. A longer text is an error page of a proxy. */
const LONGEST_MESSAGE = 300;

/** Errors are `{code, message}`, or a line of text. Only the text shows an empty account or rejected content. */
export function readError(answer: UpstreamErrorResponse): GatewayError {
  const { status, body } = answer;
  const complaint = readComplaint(body);
  if (!complaint) return readUpstreamError(answer);
  const { code, message } = complaint;
  const words = `${code ?? ''} ${message}`.replaceAll('_', ' ');
  const isRefusal = status === 400 || status === 403 || status === 422;
  if (isRefusal && accountWords.test(words)) return readUpstreamError({ ...answer, status: 402, body: complaint });
  if (isRefusal && contentWords.test(words)) {
    return readUpstreamError({ ...answer, body: { message, code: 'content_policy' } });
  }
  return readUpstreamError({ ...answer, body: complaint });
}

function readComplaint(body: unknown): { code?: string; message: string } | undefined {
  if (typeof body === 'string') {
    const message = body.trim();
    return message.length <= LONGEST_MESSAGE && !message.includes('<') ? { message } : undefined;
  }
  const { code, message } = (body ?? {}) as { code?: unknown; message?: unknown }; // checked below
  if (typeof message !== 'string') return undefined;
  return { message, ...(typeof code === 'string' && { code }) };
}
