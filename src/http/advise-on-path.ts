import { GEMINI_BASE } from './gemini-paths.ts';

const base = '/api/v1';

/** Paths of the compatible API that this gateway serves elsewhere or not at all. */
const elsewhere: readonly { path: RegExp; advice: string }[] = [
  {
    path: /^\/(responses\/|conversations(\/|$))/,
    advice:
      'Responses are not stored, so none can be fetched, cancelled or deleted. Send the output of earlier responses back ' +
      'in `input`, and close the connection to cancel a response.',
  },
  {
    path: /^\/images\/variations$/,
    advice: `Send the image to POST ${base}/images/edits, with a prompt.`,
  },
  {
    path: /^\/(messages\/)?batches(\/|$)/,
    advice: 'Batches are not offered. Send each request by itself.',
  },
  {
    path: /^\/audio\//,
    advice: 'Audio is not generated or transcribed. Models that take audio get it as a part of a message.',
  },
  {
    path: /^\/moderations$/,
    advice: 'The plugin `moderation` and guardrails check the input of a request.',
  },
  {
    path: /^\/(uploads|vector_stores)(\/|$)/,
    advice: `Store files with POST ${base}/files, and name them in \`input\` as \`file_id\`.`,
  },
];

/** The prefixes that a wrong base URL adds to the intended path. */
const strayPrefix = /^(\/(api|openai|v\d+|responses(?=\/(responses|chat|models|images)\b)))+/;

/** Returns the path after the base URL that a client means whose base URL is wrong, or ends with a slash. */
const findMeant = (path: string): string => path.replaceAll(/\/{2,}/g, '/').replace(strayPrefix, '');

/** Returns the path that a client with a wrong base URL means. It need not exist. */
export const findMeantPath = (path: string): string => base + findMeant(path);

/**
 * Returns advice for an unknown path. The usual causes are a wrong base URL and methods that need stored data.
 *
 * @param path without its query
 * @param isKnown whether a route has a path
 * @returns a sentence; undefined if there is no advice
 */
export function adviseOnPath(path: string, isKnown: (path: string) => boolean): string | undefined {
  // https://github.com/BerriAI/litellm/issues/22272
  const [, prefix, inner] = /^(\/.+?)(\/api\/v1.*|\/health|\/ready|\/metrics)$/.exec(path) ?? [];
  if (inner !== undefined && isKnown(inner))
    return `The paths of this gateway have no prefix: a proxy in front of it must remove ${prefix}, and a client without a proxy must not send it.`;
  // Clients of Google add the version themselves.
  if (/\/v1(?:beta|alpha)\d*\/(?:models|tunedModels)\b/.test(path) && !path.startsWith(GEMINI_BASE))
    return 'The base URL of this gateway for clients of Google ends in /api, to which they add /v1beta/models/….';
  const meant = findMeant(path);
  const known = elsewhere.find((each) => each.path.test(meant));
  if (known !== undefined) return known.advice;
  if (!isKnown(base + meant)) return undefined;
  // Clients of Anthropic add the version themselves.
  return meant.startsWith('/messages')
    ? `The base URL of this gateway for clients of Anthropic ends in /api, to which they add /v1${meant}.`
    : `The base URL of this gateway ends in ${base}, to which clients add ${meant}.`;
}
