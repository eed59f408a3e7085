/** A file that cannot be read. The message is for the caller: sentences about "it", without the name of the file. */
export class FileFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FileFault';
  }
}

export const damaged = (what: string): FileFault => new FileFault(`It is damaged: ${what}.`);
