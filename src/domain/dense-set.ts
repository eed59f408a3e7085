/** Something that is in a bag, and knows where. */
export interface DenseSetItem {
  /** Set by the bag; -1 outside. */
  place: number;
}

/**
 * Things that come and go by the thousand a second, in no order. A `Set` would do the same, but when it has seen enough
 * of them it moves to a new table, and the old one keeps what it held and points at the new one: once one of the tables
 * is old, the garbage collector's quick pass keeps all that was ever in any of them, until its slow one comes.
 */
export class DenseSet<Thing extends DenseSetItem> {
  private readonly items: Thing[] = [];

  add(thing: Thing): void {
    thing.place = this.items.length;
    this.items.push(thing);
  }

  /** Does nothing for what is not there. */
  delete(thing: Thing): void {
    if (thing.place === -1) return;
    const last = this.items.pop()!; // there is one at least
    if (last !== thing) {
      this.items[thing.place] = last;
      last.place = thing.place;
    }
    thing.place = -1;
  }

  get size(): number {
    return this.items.length;
  }

  /** What is there now; safe to change meanwhile. */
  list(): Thing[] {
    return [...this.items];
  }
}
