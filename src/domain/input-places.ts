import type { InputItem } from './items.ts';

/** Inputs in which the gateway has moved, added or removed items → the place of each item in the input of the request. */
const changedInputs = new WeakMap<readonly InputItem[], readonly number[]>();

/**
 * Returns the place of each item in the input of the request, so that paths name what the client has sent. An item that
 * the gateway has added has the place of the item that it belongs to.
 *
 * @returns undefined if the input has the items of the request
 */
export const placesOf = (input: readonly InputItem[]): readonly number[] | undefined => changedInputs.get(input);

/** Records that an input was derived from another one. @param places of its items in the other one */
function notePlaces(changed: readonly InputItem[], from: readonly InputItem[], places: readonly number[]): void {
  const before = changedInputs.get(from);
  changedInputs.set(changed, before ? places.map((place) => before[place]!) : places);
}

/** Records that an input has the items of another one in the same order. */
export function keepPlaces(changed: readonly InputItem[], from: readonly InputItem[]): void {
  const places = changedInputs.get(from);
  if (places) changedInputs.set(changed, places);
}

/** An item and its place in another list. */
export interface Placed<Item> {
  item: Item;
  place: number;
}

/** A list that is derived from another one, with the places of its items. */
export class PlacedItems {
  private readonly items: InputItem[] = [];
  private readonly places: number[] = [];

  add(item: InputItem, place: number): void {
    this.items.push(item);
    this.places.push(place);
  }

  /** Empties the given list. */
  addAll(placed: Placed<InputItem>[]): void {
    for (const { item, place } of placed) this.add(item, place);
    placed.length = 0;
  }

  /** Returns the items, and records their places. @param from the other list */
  finish(from: readonly InputItem[]): InputItem[] {
    notePlaces(this.items, from, this.places);
    return this.items;
  }
}

/**
 * Records the places of an input that a plugin has derived from another one. An item that is not in the other one, such
 * as a shortened copy, has the place after the item before it.
 */
export function findPlaces(changed: readonly InputItem[], from: readonly InputItem[]): void {
  const known = new Map(from.map((item, place) => [item, place]));
  let next = 0;
  const places = changed.map((item) => {
    const place = known.get(item) ?? Math.max(0, Math.min(next, from.length - 1));
    next = place + 1;
    return place;
  });
  notePlaces(changed, from, places);
}
