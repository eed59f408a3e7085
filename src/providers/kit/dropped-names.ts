import { truncateName } from '../../domain/truncate-name.ts';

/** Names that are listed; more are only known to be there. */
const MAX_NAMES = 100;

/** The ellipsis says that the name was cut, perhaps in the middle of a key. */
function shorten(name: string): string {
  const start = truncateName(name);
  return start === name ? name : `${start.slice(0, -1)}…`;
}

/** The names of what a wire cannot carry. A provider may invent as many and as long ones as it likes. */
export class DroppedNames extends Set<string> {
  override add(name: string): this {
    if (this.size < MAX_NAMES) super.add(shorten(name));
    else super.add('…');
    return this;
  }
}
