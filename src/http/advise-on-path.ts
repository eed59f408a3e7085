const base = '/api/v1';

/** Paths of the compatible API that this gateway serves elsewhere or not at all. */
const elsewhere: readonly { path: RegExp; advice: string }[] = [
  {
    path: /^\/responses\/input_tokens$/,
    advice:
      'The usage of a response has its token counts. A conversation that grows too long must be shortened by the client.',
  },
  {
    // Source: caozhiyuan/copilot-api#359
    path: /^\/responses\/compact$/,
    advice:
      'The client must shorten a conversation that grows too long. Codex does so itself if the `name` of its provider is ' +
      'not OpenAI: name it Headgate in `model_providers`.',
  },
  {
    path: /^\/(responses\/|conversations(\/|$))/,
    advice:
      'Responses are not stored, so none can be fetched, cancelled or deleted. Send the output of earlier responses back ' +
      'in `input`, and close the connection to cancel a response.',
  },
  {
    path: /^\/images\/(generations|edits|variations)$/,
    advice: `Send the request to POST ${base}/images, with input images as \`input_references\`.`,
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

/** Returns the path that a client with a wrong base URL means. It need not exist. */
export const findMeantPath = (path: string): string => base + path.replace(strayPrefix, '');

/**
 * Returns advice for an unknown path. The usual causes are a wrong base URL and methods that need stored data.
 *
 * @param path without its query
 * @param isKnown whether a route has a path
 * @returns a sentence; undefined if there is no advice
 */
export function adviseOnPath(path: string, isKnown: (path: string) => boolean): string | undefined {
  const meant = path.replace(strayPrefix, '');
  const known = elsewhere.find((each) => each.path.test(meant));
  if (known !== undefined) return known.advice;
  if (!isKnown(base + meant)) return undefined;
  // Clients of Anthropic add the version themselves.
  return meant.startsWith('/messages')
    ? `The base URL of this gateway for clients of Anthropic ends in /api, to which they add /v1${meant}.`
    : `The base URL of this gateway ends in ${base}, to which clients add ${meant}.`;
}
