import type { InputItem } from '../../domain/items.ts';
import type { SlicedWork } from '../../domain/work-slices.ts';

/** Items that stay or go together. */
export interface Unit {
  /** Indexes of the input, in order. */
  readonly items: readonly number[];
  /** Whether it must stay as it is. */
  readonly isProtected: boolean;
}

/** The fields that connect items. */
type Linked = { type: string; role?: unknown; id?: unknown } & Partial<Record<LinkField, unknown>>;
type LinkField = 'call_id' | 'subagent_id' | 'approval_request_id';

/** Kinds that belong to no turn and are never removed. */
const settingTypes = new Set([
  'additional_tools',
  'configuration_update',
  'item_reference',
  'compaction',
  'context_compaction',
  'compaction_trigger',
]);

/**
 * Groups the items of an input into units. A call and its output are one unit. A reasoning item and everything that the
 * model and its tools produced after it, up to the next reasoning item or message of another role, are one unit: a
 * provider accepts its reasoning only with the items that followed it.
 *
 * Instructions, the last user message, tools and settings are protected. The output of a call that only an
 * `item_reference` names is protected, too.
 */
export function groupItems(input: readonly InputItem[]): SlicedWork<Unit[]> {
  return new ItemGroups(input).group();
}

/** Items between two places where the work can pause. */
const BATCH = 256;

class ItemGroups {
  private readonly input: readonly InputItem[];
  private lastUser = -1;
  private hasReferences = false;
  /** For each item the unit that it was placed in. There are at most as many units as items. */
  private readonly unitOfItem: Int32Array;
  /** For each unit itself, or the earlier unit that it was merged into. */
  private readonly parents: Int32Array;
  private readonly protectedUnits = new Set<number>();
  private units = 0;
  private readonly unitOfLink = new Map<string, number>();
  /** The unit of the reasoning that the next items belong to. */
  private turn = -1;

  constructor(input: readonly InputItem[]) {
    this.input = input;
    this.unitOfItem = new Int32Array(input.length);
    this.parents = new Int32Array(input.length);
  }

  /** Returns the units in the order of their first items. */
  *group(): SlicedWork<Unit[]> {
    for (const [index, item] of this.input.entries()) {
      if (item.type === 'item_reference') this.hasReferences = true;
      else if (item.type === 'message' && item['role'] === 'user') this.lastUser = index;
      if (index % BATCH === 0) yield BATCH;
    }
    for (const [index, item] of this.input.entries()) {
      this.place(index, item as Linked);
      if (index % BATCH === 0) yield BATCH * 2;
    }
    return yield* this.list();
  }

  private *list(): SlicedWork<Unit[]> {
    const units: { items: number[]; isProtected: boolean }[] = [];
    const placeOfUnit = new Int32Array(this.units).fill(-1);
    for (let index = 0; index < this.input.length; index++) {
      const unit = this.find(this.unitOfItem[index]!);
      const place = placeOfUnit[unit]!;
      if (place === -1) placeOfUnit[unit] = units.push({ items: [index], isProtected: false }) - 1;
      else units[place]!.items.push(index);
      if (index % BATCH === 0) yield BATCH;
    }
    let count = 0;
    for (const unit of this.protectedUnits) {
      units[placeOfUnit[this.find(unit)]!]!.isProtected = true;
      if (++count % BATCH === 0) yield BATCH / 2;
    }
    return units;
  }

  private place(index: number, item: Linked): void {
    const { type, role } = item;
    const isMessage = type === 'message';
    if (isMessage && role !== 'assistant') {
      this.turn = -1;
      this.open(index, role !== 'user' || index === this.lastUser);
      return;
    }
    if (settingTypes.has(type)) {
      this.open(index, true);
      return;
    }
    if (type === 'reasoning') {
      const isContinued = this.turn !== -1 && this.input[index - 1]?.type === 'reasoning';
      if (isContinued) this.join(index, this.turn);
      else this.turn = this.open(index, false);
      return;
    }
    const links = listLinks(item);
    const known = links.map((link) => this.unitOfLink.get(link)).filter((unit) => unit !== undefined);
    const isOutput = type.endsWith('_output') || type === 'mcp_approval_response';
    let unit = isOutput && known[0] !== undefined ? this.join(index, known[0]) : -1;
    if (unit === -1) {
      const isOrphan = isOutput && this.hasReferences;
      unit = this.turn === -1 || isOrphan ? this.open(index, isOrphan) : this.join(index, this.turn);
    }
    for (const other of known) unit = this.merge(unit, other);
    for (const link of links) this.unitOfLink.set(link, unit);
  }

  private open(index: number, isProtected: boolean): number {
    const unit = this.units++;
    this.parents[unit] = unit;
    if (isProtected) this.protectedUnits.add(unit);
    return this.join(index, unit);
  }

  private join(index: number, unit: number): number {
    this.unitOfItem[index] = unit;
    return unit;
  }

  private merge(one: number, other: number): number {
    const [first, second] = [this.find(one), this.find(other)];
    const root = Math.min(first, second);
    this.parents[first] = root;
    this.parents[second] = root;
    return root;
  }

  private find(unit: number): number {
    let root = unit;
    while (this.parents[root] !== root) root = this.parents[root]!;
    for (let at = unit; at !== root; ) {
      const above = this.parents[at]!;
      this.parents[at] = root;
      at = above;
    }
    return root;
  }
}

/** The names by which items refer to each other. */
function listLinks(item: Linked): string[] {
  const links: string[] = [];
  for (const field of ['call_id', 'subagent_id'] as const) {
    const value = item[field];
    if (typeof value === 'string') links.push(`call ${value}`);
  }
  const approval = item.type === 'mcp_approval_request' ? item.id : item.approval_request_id;
  if (typeof approval === 'string') links.push(`approval ${approval}`);
  return links;
}
