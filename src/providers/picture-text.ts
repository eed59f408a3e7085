/**
 * The bytes of a picture that an answer has as base64, with or without the head of a data URL.
 *
 * @throws {Error} when it is none: the pipeline then blames the provider
 */
export function readPicture(text: unknown): Buffer {
  if (typeof text !== 'string' || text === '') throw new Error('There is no picture.');
  const from = text.startsWith('data:') ? text.indexOf(',') + 1 : 0;
  const bytes = Buffer.from(from === 0 ? text : text.slice(from), 'base64');
  // Node passes over what is no base64: then there are fewer bytes than letters.
  const letters = text.length - from - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
  if (bytes.length !== Math.floor((letters * 3) / 4)) throw new Error('The picture is not base64.');
  return bytes;
}
