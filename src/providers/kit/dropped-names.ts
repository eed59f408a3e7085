import { truncateName } from '../../domain/truncate-name.ts';

/** Maximum number of listed names. One `…` stands for all others. */
const MAX_NAMES = 100;

/** Shortens a name. The ellipsis shows that it was truncated, perhaps in the middle of a key. */
function shorten(name: string): string {
  const start = truncateName(name);
  return start === name ? name : `${start.slice(0, -1)}…`;
}

/**
 * The names of fields that a wire cannot carry. Their number and length are bounded, because the provider chooses them.
 */
export class DroppedNames extends Set<string> {
  override add(name: string): this {
    if (this.size < MAX_NAMES) super.add(shorten(name));
    else super.add('…');
    return this;
  }
}
