import { timingSafeEqual } from 'node:crypto';

/** Signs a text for a purpose, with a key of the gateway. */
export type SignText = (purpose: string, text: string) => string;

/** The owner of a transcript. */
export interface TranscriptOwner {
  workspaceId: string;
  /** Id of the call of the subagent. */
  callId: string;
}

/** The last entry of a transcript, which no model sees. */
interface SignatureItem {
  type: typeof SIGNATURE;
  signature: string;
}

type Items = readonly { readonly type: string }[];

const SIGNATURE = 'router:signature';

/** Adds the signature to a transcript. */
export function signTranscript(sign: SignText, owner: TranscriptOwner, items: Items): Items {
  const last: SignatureItem = { type: SIGNATURE, signature: computeSignature(sign, owner, items) };
  return [...items, last];
}

/** Removes the signature of a transcript. @returns undefined if it is missing, or the transcript was changed */
export function openTranscript(sign: SignText, owner: TranscriptOwner, signed: Items): Items | undefined {
  const last = signed.at(-1) as Partial<SignatureItem> | undefined;
  if (last?.type !== SIGNATURE || typeof last.signature !== 'string') return undefined;
  const items = signed.slice(0, -1);
  const [given, expected] = [last.signature, computeSignature(sign, owner, items)].map((text) => Buffer.from(text));
  return given!.length === expected!.length && timingSafeEqual(given!, expected!) ? items : undefined;
}

const computeSignature = (sign: SignText, { workspaceId, callId }: TranscriptOwner, items: Items): string =>
  sign('subagent transcript', JSON.stringify(sortFields([workspaceId, callId, items])));

/** Clients may change the order of fields, and write absent ones as null. */
function sortFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortFields);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return fields.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, field]) => [name, sortFields(field)]);
}
