/**
 * Makes control characters visible, as `\u001b`. Names of models come from callers, and errors from providers, so
 * that a terminal must not obey what they contain. Line breaks, tabs and colors pass. The escapes mean the same in
 * JSON.
 */
export const escapeControls = (text: string): string => text.replace(controls, escapeOne);

/** Colors, and characters that steer a terminal or change the direction of writing. */
const controls = /\p{Cc}\[[\d;]*m|(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu;

function escapeOne(found: string): string {
  if (found.startsWith('\u001b[') || found.startsWith('\n')) return found;
  return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}${found.slice(1)}`;
}
