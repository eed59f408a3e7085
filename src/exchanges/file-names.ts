import { basename, dirname, join } from 'node:path';

/** What an answer was asked for as. */
export type ResponseMode = 'stream' | 'whole';

/** What was asked, in `<name>.request.json` beside the answers. */
export interface RecordedRequest {
  /** The wire that wrote the request, and reads the answers. */
  wire: string;
  /** `dialect` of the provider. */
  dialect?: Record<string, unknown>;
  /** The provider's own name of the model. */
  upstream_model?: string;
  /** Body of a `POST /responses`. */
  request: Record<string, unknown>;
  /** For people: what was made of it, once for each answer. */
  sent?: SentRequest[];
}

export interface SentRequest {
  /** File name. */
  answer: string;
  /** HTTP number. */
  status: number;
  /** Of the body as it came. */
  bytes: number;
  /** Why it is not whole. */
  cut?: string;
  /** Behind the provider's base URL. */
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
  /** Fields of the request that the wire left out. */
  dropped: string[];
}

const answerEnd = /(?:\.(stream|whole)(?:-error)?)?\.http$/;

/** Errors have names of their own: `*.stream.http` and `*.whole.http` are answers that a wire reads. */
export const nameResponseFile = (name: string, kind: ResponseMode, status: number): string =>
  `${name}.${kind}${status >= 200 && status <= 299 ? '' : '-error'}.http`;

export const nameRequestFile = (name: string): string => `${name}.request.json`;

/** All the names that files of one recording may have. */
export const listRecordingFiles = (name: string): string[] => [
  ...(['stream', 'whole'] as const).flatMap((kind) => [
    nameResponseFile(name, kind, 200),
    nameResponseFile(name, kind, 500),
  ]),
  nameRequestFile(name),
];

/** What a recording was asked for as; undefined when its name does not say. */
export const findResponseMode = (file: string): ResponseMode | undefined =>
  answerEnd.exec(file)?.[1] as ResponseMode | undefined;

/** The file beside a recording that tells what was asked. */
export const findRequestFile = (file: string): string =>
  join(dirname(file), nameRequestFile(basename(file).replace(answerEnd, '')));

/** A file name that stays in its folder, on every system. */
export const isName = (name: string): boolean => /^[A-Za-z0-9](?:[\w-]|\.(?=[\w-])){0,99}$/.test(name);
