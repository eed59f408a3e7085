/** An item that knows its position in the set. */
export interface DenseSetItem {
  /** Written by the set. -1: it is in no set. */
  place: number;
}

/**
 * A set of items that are added and removed thousands of times a second, in no order. A `Set` would do the same, but it
 * grows into a new table from time to time, and the old table keeps its items and references the new one. Once one of
 * the tables is in the old generation, minor garbage collections keep every item that was ever in any of them, until a
 * major one.
 */
export class DenseSet<Thing extends DenseSetItem> {
  private readonly items: Thing[] = [];

  add(thing: Thing): void {
    thing.place = this.items.length;
    this.items.push(thing);
  }

  /** Does nothing if the set does not contain it. */
  delete(thing: Thing): void {
    if (thing.place === -1) return;
    const last = this.items.pop()!; // there is at least one
    if (last !== thing) {
      this.items[thing.place] = last;
      last.place = thing.place;
    }
    thing.place = -1;
  }

  get size(): number {
    return this.items.length;
  }

  /** Returns a copy of the items. Later changes of the set do not affect it. */
  list(): Thing[] {
    return [...this.items];
  }
}
