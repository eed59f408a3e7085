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
