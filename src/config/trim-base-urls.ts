import { isMapping } from './path.ts';

/** Wires → the paths that they add to `base_url`, which is often copied from an example with one. */
const added: Readonly<Record<string, RegExp>> = {
  openai: /\/(?:chat\/completions|responses)\/*$/,
  'openai-chat': /\/chat\/completions\/*$/,
  'openai-responses': /\/responses\/*$/,
  'anthropic-messages': /\/messages\/*$/,
  'openai-embeddings': /\/embeddings\/*$/,
};

/**
 * Removes the path of a request from the end of each `base_url`. Works in place.
 *
 * @returns a warning for each
 */
export function trimBaseUrls(tree: Readonly<Record<string, unknown>>): string[] {
  const { providers } = tree;
  if (!Array.isArray(providers)) return [];
  return providers.flatMap((provider: unknown, index) => {
    if (!isMapping(provider)) return [];
    const { wire, base_url: url } = provider;
    const [path] = (typeof url === 'string' && added[String(wire)]?.exec(url)) || [];
    if (path === undefined) return [];
    provider['base_url'] = (url as string).slice(0, -path.length);
    return [`providers[${index}].base_url ends in ${path}, which the wire adds itself. The gateway leaves it out.`];
  });
}
