import { basename, dirname, join } from 'node:path';

/** How a response was requested. */
export type ResponseMode = 'stream' | 'whole';

/** The request, in `<name>.request.json` beside the responses. */
export interface RecordedRequest {
  /** The wire that wrote the request and reads the responses. */
  wire: string;
  /** `dialect` of the provider. */
  dialect?: Record<string, unknown>;
  /** The provider's own name of the model. */
  upstream_model?: string;
  /** Body of a `POST /responses`. */
  request: Record<string, unknown>;
  /** For people: the requests as sent, one per response. */
  sent?: SentRequest[];
}

export interface SentRequest {
  /** File name. */
  answer: string;
  /** HTTP number. */
  status: number;
  /** Size of the body as received. */
  bytes: number;
  /** Why it is incomplete. */
  cut?: string;
  /** Relative to the provider's base URL. */
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
  /** Fields of the request that the wire omits. */
  dropped: string[];
}

const answerEnd = /(?:\.(stream|whole)(?:-error)?)?\.http$/;

/**
 * Returns the file name of a response. Errors have other names, because a wire reads `*.stream.http` and
 * `*.whole.http`.
 */
export const nameResponseFile = (name: string, kind: ResponseMode, status: number): string =>
  `${name}.${kind}${status >= 200 && status <= 299 ? '' : '-error'}.http`;

export const nameRequestFile = (name: string): string => `${name}.request.json`;

/** Returns all names that files of one recording may have. */
export const listRecordingFiles = (name: string): string[] => [
  ...(['stream', 'whole'] as const).flatMap((kind) => [
    nameResponseFile(name, kind, 200),
    nameResponseFile(name, kind, 500),
  ]),
  nameRequestFile(name),
];

/** Returns how a recording was requested. Undefined: its name does not say. */
export const findResponseMode = (file: string): ResponseMode | undefined =>
  answerEnd.exec(file)?.[1] as ResponseMode | undefined;

/** Returns the file with the request, beside a recording. */
export const findRequestFile = (file: string): string =>
  join(dirname(file), nameRequestFile(basename(file).replace(answerEnd, '')));

/** Whether a file name stays in its folder, on every system. */
export const isName = (name: string): boolean => /^[A-Za-z0-9](?:[\w-]|\.(?=[\w-])){0,99}$/.test(name);
