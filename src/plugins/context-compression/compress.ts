import type { InputItem } from '../../domain/items.ts';
import type { SlicedWork } from '../../domain/work-slices.ts';
import { cutUnit } from './cut-unit.ts';
import { groupItems, type Unit } from './group-items.ts';
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
  /** Even without everything that may be removed. @property tokens of the items that must stay */
  | { readonly type: 'too_long'; readonly tokens: number };

/** The estimated tokens of an input. */
export interface MeasuredInput {
  /** Tokens of each item. */
  readonly tokens: Float64Array;
  readonly total: number;
}

/** Estimates the tokens of each item. */
export function* measureInput(input: readonly InputItem[]): SlicedWork<MeasuredInput> {
  const tokens = new Float64Array(input.length);
  let total = 0;
  for (const [index, item] of input.entries()) {
    tokens[index] = yield* measureItem(item);
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
export function* compressInput(
  input: readonly InputItem[],
  { tokens, total }: MeasuredInput,
  room: Room,
): SlicedWork<Outcome> {
  const { scale, items = Number.POSITIVE_INFINITY } = room;
  if (total * scale <= room.tokens && input.length <= items) return { type: 'fits' };
  const units = yield* groupItems(input);
  const scaled = tokens.map((estimate) => estimate * scale);
  return yield* new Shortening(input, scaled, total * scale, room).run(units);
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
  private readonly replaced = new Map<number, { item: InputItem; tokens: number }>();
  private total: number;
  /** Units of work since the last time that the work could pause. */
  private work = 0;

  constructor(input: readonly InputItem[], tokens: Float64Array, total: number, room: Room) {
    this.input = input;
    this.tokens = tokens;
    this.removed = new Uint8Array(input.length);
    this.originalTokens = total;
    this.total = total;
    this.room = room;
  }

  *run(groups: readonly Unit[]): SlicedWork<Outcome> {
    const units: Weighed[] = [];
    const free: Weighed[] = [];
    for (const { items, isProtected } of groups) {
      let tokens = 0;
      for (const index of items) tokens += this.tokens[index]!;
      const unit = { items, isProtected, tokens };
      units.push(unit);
      if (!isProtected) free.push(unit);
      if (this.hasWorked(items.length)) yield this.takeWork();
    }
    const last = units.at(-1)!; // an input has an item
    const isPrompt = units.length === 1 && last.items.length === 1;
    yield* this.removeMiddle(yield* this.removeSurplus(free, last), last);
    if (this.excess > 0 && (isPrompt ? this.room.cutsPrompt : !last.isProtected)) yield* this.cut(last, 1);
    yield* this.removeOpening(units, last);
    const input = yield* this.collect();
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

  /** Counts work. @returns whether the work should be able to pause: then `takeWork()` is yielded */
  private hasWorked(units: number): boolean {
    this.work += units;
    return this.work >= BATCH;
  }

  private takeWork(): number {
    const { work } = this;
    this.work = 0;
    return work;
  }

  private get excess(): number {
    return this.total - this.room.tokens;
  }

  /** Removes units from the middle until there are few enough items. About equal numbers remain on both sides. */
  private *removeSurplus(free: readonly Weighed[], last: Weighed): SlicedWork<readonly Weighed[]> {
    const { items = Number.POSITIVE_INFINITY } = this.room;
    if (this.input.length <= items) return free;
    let fixed = this.input.length;
    for (const unit of free) {
      fixed -= unit.items.length;
      if (this.hasWorked(1)) yield this.takeWork();
    }
    const allowed = Math.max(0, items - fixed);
    let count = 0;
    const fits = (unit: Weighed | undefined, limit: number): boolean => {
      if (!unit || count + unit.items.length > limit) return false;
      count += unit.items.length;
      return true;
    };
    let low = 0;
    while (fits(free[low], allowed / 2)) {
      low++;
      if (this.hasWorked(1)) yield this.takeWork();
    }
    let high = free.length;
    while (high > low && fits(free[high - 1], allowed)) {
      high--;
      if (this.hasWorked(1)) yield this.takeWork();
    }
    const left: Weighed[] = [];
    for (const [at, unit] of free.entries()) {
      if (at < low || at >= high || unit === last) left.push(unit);
      else this.remove(unit);
      if (this.hasWorked(1)) yield this.takeWork();
    }
    return left;
  }

  /** Removes units from the middle of the tokens outwards, each time on the side that has more tokens left. */
  private *removeMiddle(free: readonly Weighed[], last: Weighed): SlicedWork<void> {
    let mass = 0;
    for (const { tokens } of free) {
      mass += tokens;
      if (this.hasWorked(1)) yield this.takeWork();
    }
    let at = 0;
    let before = 0;
    while (at < free.length - 1 && before + free[at]!.tokens < mass / 2) {
      before += free[at++]!.tokens;
      if (this.hasWorked(1)) yield this.takeWork();
    }
    let low = at - 1;
    let high = at + 1;
    let after = mass - before - (free[at]?.tokens ?? 0);
    let unit = free[at];
    while (unit && this.excess > 0) {
      if (yield* this.cut(unit, MIN_KEPT)) return;
      if (unit !== last) this.remove(unit);
      const isLower = low >= 0 && (high >= free.length || before >= after);
      unit = isLower ? free[low--] : free[high++];
      if (!unit) return;
      if (isLower) before -= unit.tokens;
      else after -= unit.tokens;
      if (this.hasWorked(1)) yield this.takeWork();
    }
  }

  /**
   * Removes what the model said before the first remaining message of the user, because a conversation that began with the
   * user must still do so.
   */
  private *removeOpening(units: readonly Weighed[], last: Weighed): SlicedWork<void> {
    let isOpened = false;
    for (const unit of units) {
      let isUsers = false;
      for (const index of unit.items) {
        isUsers ||= isFromUser(this.input[index]!);
        if (this.hasWorked(1)) yield this.takeWork();
      }
      if (unit.isProtected && !isUsers) continue; // belongs to no turn
      if (!isOpened && !isUsers) return;
      isOpened = true;
      if (this.isRemoved(unit)) continue;
      if (unit === last || isUsers) return;
      this.remove(unit);
    }
  }

  private isRemoved({ items }: Unit): boolean {
    return this.removed[items[0]!] === 1; // a unit is removed as a whole
  }

  private remove(unit: Weighed): void {
    for (const index of unit.items) {
      this.removed[index] = 1;
      this.total -= this.replaced.get(index)?.tokens ?? this.tokens[index]!;
    }
    this.work += unit.items.length;
  }

  /** Cuts the excess from the texts of a unit. @returns whether that was possible, with `least` tokens left of them */
  private *cut(unit: Weighed, least: number): SlicedWork<boolean> {
    if (unit.tokens - this.excess < least) return false;
    const items: InputItem[] = [];
    for (const index of unit.items) {
      items.push(this.input[index]!);
      if (this.hasWorked(1)) yield this.takeWork();
    }
    const cut = yield* cutUnit(items, this.excess + ROUNDING, least, this.room.scale);
    if (!cut) return false;
    for (const [at, index] of unit.items.entries()) {
      if (this.hasWorked(1)) yield this.takeWork();
      const item = cut[at]!;
      if (item === items[at]) continue;
      const tokens = (yield* measureItem(item)) * this.room.scale;
      this.replaced.set(index, { item, tokens });
      this.total += tokens - this.tokens[index]!;
    }
    return true;
  }

  private *collect(): SlicedWork<InputItem[]> {
    const input: InputItem[] = [];
    for (let index = 0; index < this.input.length; index++) {
      if (this.hasWorked(1)) yield this.takeWork();
      if (this.removed[index]) continue;
      const item = this.replaced.get(index)?.item ?? this.input[index]!;
      // of two settings in a row only the second one counts, and two of them are an error
      if (item.type === 'configuration_update' && input.at(-1)?.type === item.type) input.pop();
      input.push(item);
    }
    return input;
  }
}

/** Units of work between two places where the work can pause. */
const BATCH = 256;

/** Tokens of a unit that must remain if it is cut instead of removed. */
const MIN_KEPT = 100;

/** Tokens that sums of fractions may be off by. */
const ROUNDING = 0.01;

const isFromUser = (item: InputItem): boolean => item.type === 'message' && item['role'] === 'user';
