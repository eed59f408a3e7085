/** A file that cannot be read. The message is for the caller: sentences about "it", without the name of the file. */
export class FileFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FileFault';
  }
}

export const damaged = (what: string): FileFault => new FileFault(`It is damaged: ${what}.`);

/** Maximum depth of elements. Parsing takes time by the square of the depth. */
const MAX_DEPTH = 5000;

/** @throws {FileFault} if elements are nested too deeply */
export function checkDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw new FileFault(`Its elements are nested more than ${MAX_DEPTH} deep.`);
}

/** Maximum attributes of one element. Those of real documents have some dozens. */
const MAX_ATTRIBUTES = 1000;

/** @throws {FileFault} if an element has too many attributes */
export function checkAttributes(count: number): void {
  if (count > MAX_ATTRIBUTES) throw new FileFault(`It has an element of more than ${MAX_ATTRIBUTES} attributes.`);
}
