const base = '/api/v1';

/** What clients of the compatible API ask for below the base that this gateway does elsewhere, or not at all. */
const elsewhere: readonly { path: RegExp; advice: string }[] = [
  {
    path: /^\/(chat\/completions|completions|messages)$/,
    advice: `Send the conversation as \`input\` to POST ${base}/responses: docs/guides/clients.md says how clients do it.`,
  },
  {
    path: /^\/responses\/(input_tokens|compact)$/,
    advice: 'The usage of an answer tells its tokens; a conversation that grows too long is yours to shorten.',
  },
  {
    path: /^\/(responses\/|conversations(\/|$))/,
    advice:
      'No response is stored, so there is none to fetch, cancel or delete: send the output of earlier answers back in ' +
      '`input`, and close the connection to end an answer.',
  },
  {
    path: /^\/images\/(generations|edits|variations)$/,
    advice: `Pictures come from POST ${base}/images, those to start from go into its \`input_references\`.`,
  },
  {
    path: /^\/(files|uploads|vector_stores)(\/|$)/,
    advice: 'No file is stored: put it into `input`, as an `input_file` with `file_data` or `file_url`.',
  },
];

/** What a wrong base URL puts before the path that was meant. */
const strayPrefix = /^(\/(api|openai|v\d+|responses(?=\/(responses|chat|models|images)\b)))+/;

/**
 * What to do instead, for someone who asked for a path that is not here: mostly a client with its base URL wrong, or with
 * a method that needs something to be stored.
 *
 * @param path without its query
 * @param findMethods the methods that a path takes
 * @returns a sentence; `undefined` when there is nothing to say
 */
export function adviseOnPath(path: string, findMethods: (path: string) => string[]): string | undefined {
  const meant = path.replace(strayPrefix, '');
  const known = elsewhere.find((each) => each.path.test(meant));
  if (known !== undefined) return known.advice;
  if (findMethods(base + meant).length === 0) return undefined;
  return `The base URL of this gateway ends in ${base}, to which clients add ${meant}.`;
}
