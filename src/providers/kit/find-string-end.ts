const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Finds the quote that ends a JSON string, which has an even number of backslashes before it.
 *
 * @param from the byte after the quote that begins the string
 * @returns the length of the body if there is no such quote
 */
export function findStringEnd(body: Buffer, from: number): number {
  for (let end = body.indexOf(QUOTE, from); end !== -1; end = body.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (body[end - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return body.length;
}
