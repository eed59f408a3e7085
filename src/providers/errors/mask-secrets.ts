/**
 * Shapes of secrets, and a sign that must be in each. Each pattern reads the text once from left to right. A lookahead
 * would read the rest of the text again at every position, and a message may be as long as the request that it repeats.
 */
const secrets: { shape: RegExp; sign?: RegExp }[] = [
  { shape: /\bBearer\s+\S+/gi },
  // A short prefix, a dash or underscore, and text with a digit or an asterisk: `sk-…`, `gsk_…`, `org-…`.
  {
    shape: /\b(?:sk|pk|rk|gsk|xai|hf|r8|nvapi|pplx|fw|key|org|proj|csk|tgp)[-_][\w*.-]{4,}/g,
    sign: /[\d*]/,
  },
  { shape: /\bAIza[\w*-]{4,}/g },
  // Letters and digits in a sequence longer than any word.
  { shape: /[A-Za-z0-9_+=*]{24,}/g, sign: /\d/ },
];

export function maskSecrets(text: string): string {
  let masked = text;
  for (const { shape, sign } of secrets) {
    masked = masked.replace(shape, (found) => (!sign || sign.test(found) ? '[masked]' : found));
  }
  return masked;
}
