import type { InputItem } from '../../domain/items.ts';
import { type NextTurn, WorkSlices } from '../../domain/work-slices.ts';
import { cutUnit } from './cut-unit.ts';
import { ItemGroups, type Unit } from './group-items.ts';
import { measureItem } from './measure.ts';

/** The room that an endpoint has for an input. */
export interface Room {
  /** Tokens for all items. */
  readonly tokens: number;
  /** Maximum number of items. Absent: any. */
  readonly items?: number | undefined;
  /** Real tokens per estimated token. */
  readonly scale: number;
  /** Whether the text of an input of a single message may be cut. */
  readonly cutsPrompt: boolean;
}

export type Outcome =
  | { readonly type: 'fits' }
  | {
      readonly type: 'compressed';
      readonly input: InputItem[];
      readonly originalTokens: number;
      readonly tokens: number;
      /** Number of items whose text was cut. */
      readonly cut: number;
    }
  /** Even without everything that may be removed. @property tokens of what must stay */
  | { readonly type: 'too_long'; readonly tokens: number };

/** Items between two looks at the clock. */
const SLICE_ITEMS = 200;
/** The estimated tokens of an input. */
export interface MeasuredInput {
  /** Of each item. */
  readonly tokens: Float64Array;
  readonly total: number;
}

/** Estimates the tokens of each item, in slices. */
export async function measureInput(input: readonly InputItem[], nextTurn: NextTurn): Promise<MeasuredInput> {
  const slices = new WorkSlices(nextTurn);
  const tokens = new Float64Array(input.length);
  let total = 0;
  for (let index = 0; index < input.length; index++) {
    if (index % SLICE_ITEMS === 0 && slices.isOver()) await slices.next();
    tokens[index] = measureItem(input[index]!);
    total += tokens[index]!;
  }
  return { tokens, total };
}

/**
 * Shortens an input from its middle until it fits. First it removes units until there are few enough items, then until
 * the tokens fit. A unit whose removal would free more than needed is cut instead, if enough of it remains. The last unit
 * of the conversation is only cut.
 *
 * @see docs/reference/plugins.md#context-compression
 */
export async function compressInput(
  input: readonly InputItem[],
  { tokens, total }: MeasuredInput,
  room: Room,
  nextTurn: NextTurn,
): Promise<Outcome> {
  const { scale, items = Number.POSITIVE_INFINITY } = room;
  if (total * scale <= room.tokens && input.length <= items) return { type: 'fits' };
  const slices = new WorkSlices(nextTurn);
  const groups = new ItemGroups(input);
  while (!groups.advance(SLICE_ITEMS)) if (slices.isOver()) await slices.next();
  const units = groups.list();
  if (slices.isOver()) await slices.next();
  const scaled = tokens.map((estimate) => estimate * scale);
  return new Shortening(input, scaled, total * scale, room).run(units);
}

interface Weighed extends Unit {
  readonly tokens: number;
}

class Shortening {
  private readonly input: readonly InputItem[];
  private readonly tokens: Float64Array;
  private readonly originalTokens: number;
  private readonly room: Room;
  /** For each item whether it is removed. */
  private readonly removed: Uint8Array;
  private readonly replaced = new Map<number, InputItem>();
  private total: number;

  constructor(input: readonly InputItem[], tokens: Float64Array, total: number, room: Room) {
    this.input = input;
    this.tokens = tokens;
    this.removed = new Uint8Array(input.length);
    this.originalTokens = total;
    this.total = total;
    this.room = room;
  }

  run(groups: readonly Unit[]): Outcome {
    const units = groups.map(({ items, isProtected }): Weighed => {
      let tokens = 0;
      for (const index of items) tokens += this.tokens[index]!;
      return { items, isProtected, tokens };
    });
    const last = units.at(-1)!; // an input has an item
    const isPrompt = units.length === 1 && last.items.length === 1;
    const free = units.filter(({ isProtected }) => !isProtected);
    this.removeMiddle(this.removeSurplus(free, last), last);
    if (this.excess > 0 && (isPrompt ? this.room.cutsPrompt : !last.isProtected)) this.cut(last, 1);
    this.removeOpening(units, last);
    const input = this.collect();
    if (this.excess > 0 || input.length > (this.room.items ?? Number.POSITIVE_INFINITY)) {
      return { type: 'too_long', tokens: Math.ceil(this.total) };
    }
    return {
      type: 'compressed',
      input,
      originalTokens: this.originalTokens,
      tokens: this.total,
      cut: this.replaced.size,
    };
  }

  private measure(item: InputItem): number {
    return measureItem(item) * this.room.scale;
  }

  private get excess(): number {
    return this.total - this.room.tokens;
  }

  /** Removes units from the middle until there are few enough items. About equal numbers remain on both sides. */
  private removeSurplus(free: readonly Weighed[], last: Weighed): readonly Weighed[] {
    const { items = Number.POSITIVE_INFINITY } = this.room;
    if (this.input.length <= items) return free;
    const fixed = this.input.length - free.reduce((sum, unit) => sum + unit.items.length, 0);
    const allowed = Math.max(0, items - fixed);
    let count = 0;
    const fits = (unit: Weighed | undefined, limit: number): boolean => {
      if (!unit || count + unit.items.length > limit) return false;
      count += unit.items.length;
      return true;
    };
    let low = 0;
    while (fits(free[low], allowed / 2)) low++;
    let high = free.length;
    while (high > low && fits(free[high - 1], allowed)) high--;
    const surplus = free.slice(low, high).filter((unit) => unit !== last);
    for (const unit of surplus) this.remove(unit);
    return free.filter((unit) => !this.isRemoved(unit));
  }

  /** Removes units from the middle of the tokens outwards, each time on the side that has more tokens left. */
  private removeMiddle(free: readonly Weighed[], last: Weighed): void {
    const mass = free.reduce((sum, unit) => sum + unit.tokens, 0);
    let at = 0;
    let before = 0;
    while (at < free.length - 1 && before + free[at]!.tokens < mass / 2) before += free[at++]!.tokens;
    let low = at - 1;
    let high = at + 1;
    let after = mass - before - (free[at]?.tokens ?? 0);
    let unit = free[at];
    while (unit && this.excess > 0) {
      if (this.cut(unit, MIN_KEPT)) return;
      if (unit !== last) this.remove(unit);
      const isLower = low >= 0 && (high >= free.length || before >= after);
      unit = isLower ? free[low--] : free[high++];
      if (!unit) return;
      if (isLower) before -= unit.tokens;
      else after -= unit.tokens;
    }
  }

  /**
   * Removes what the model said before the first remaining message of the user, because a conversation that began with the
   * user must still do so.
   */
  private removeOpening(units: readonly Weighed[], last: Weighed): void {
    const isUsers = (unit: Weighed): boolean => unit.items.some((index) => isFromUser(this.input[index]!));
    const conversation = units.filter((unit) => !unit.isProtected || isUsers(unit));
    if (!conversation[0] || !isUsers(conversation[0])) return;
    for (const unit of conversation) {
      if (this.isRemoved(unit)) continue;
      if (unit === last || isUsers(unit)) return;
      this.remove(unit);
    }
  }

  private isRemoved({ items }: Unit): boolean {
    return this.removed[items[0]!] === 1; // a unit is removed as a whole
  }

  private remove(unit: Weighed): void {
    for (const index of unit.items) {
      this.removed[index] = 1;
      this.total -= this.replaced.has(index) ? this.measure(this.replaced.get(index)!) : this.tokens[index]!;
    }
  }

  /** Cuts the texts of a unit by what is too much. @returns whether that was possible, with `least` tokens left of them */
  private cut(unit: Weighed, least: number): boolean {
    if (unit.tokens - this.excess < least) return false;
    const items = unit.items.map((index) => this.input[index]!);
    const cut = cutUnit(items, this.excess + ROUNDING, least, (item) => this.measure(item));
    if (!cut) return false;
    for (const [at, index] of unit.items.entries()) {
      const item = cut[at]!;
      if (item === items[at]) continue;
      this.replaced.set(index, item);
      this.total += this.measure(item) - this.tokens[index]!;
    }
    return true;
  }

  private collect(): InputItem[] {
    const input: InputItem[] = [];
    for (let index = 0; index < this.input.length; index++) {
      if (this.removed[index]) continue;
      const item = this.replaced.get(index) ?? this.input[index]!;
      // of two settings in a row only the second one counts, and two of them are an error
      if (item.type === 'configuration_update' && input.at(-1)?.type === item.type) input.pop();
      input.push(item);
    }
    return input;
  }
}

/** Tokens of a unit that must remain if it is cut instead of removed. */
const MIN_KEPT = 100;

/** Tokens that sums of fractions may be off by. */
const ROUNDING = 0.01;

const isFromUser = (item: InputItem): boolean => item.type === 'message' && item['role'] === 'user';
