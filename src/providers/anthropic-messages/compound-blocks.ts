import type { BlockPlace } from '../../domain/native.ts';
import type { Block, Source } from './wire.ts';

type Fields = Record<string, unknown>;

/** Joins the parts of a document or a search result to the block that a client of the same format has sent. */
export class CompoundBlocks {
  private readonly blocks: Block[];
  private id: number | undefined;
  private block: Fields | undefined;

  constructor(blocks: Block[]) {
    this.blocks = blocks;
  }

  /**
   * @param native of the part
   * @returns whether the block has become a part of another one. Otherwise, the block has all of its fields
   */
  add(block: Block, native: Readonly<Fields> | undefined): boolean {
    const { place, ...fields } = (native ?? {}) as Fields & { place?: BlockPlace };
    if (fields.title === null) {
      delete fields.title;
      delete (block as Fields).title; // the name was made up, because other formats require one
    }
    Object.assign(block, fields);
    if (!place) {
      this.id = undefined;
      return false;
    }
    this.join(block, place);
    return true;
  }

  private join(block: Block, { id, type, field, settings }: BlockPlace): void {
    if (this.id !== id || !this.block) {
      this.id = id;
      this.block = { type };
      this.blocks.push(this.block as Block); // each part adds a field of the kind
    }
    const whole = this.block;
    const { isText, ...given } = settings ?? {};
    const text = block.type === 'text' ? block.text : '';
    if (field === 'source' && type === 'document') Object.assign(whole, block);
    else if (field !== 'text' && field !== 'content') whole[field] = text;
    else if (field === 'text') {
      whole.source = { type: 'text', media_type: 'text/plain', data: text } satisfies Source;
    } else if (isText) whole.source = { type: 'content', content: text } satisfies Source;
    else this.listOf(type, whole).push(block);
    Object.assign(whole, given);
  }

  /** Returns the list of blocks in a block. */
  private listOf(type: BlockPlace['type'], whole: Fields): Block[] {
    if (type === 'search_result') {
      whole.content ??= [];
      return whole.content as Block[];
    }
    whole.source ??= { type: 'content', content: [] } satisfies Source;
    return (whole.source as { content: Block[] }).content; // created here
  }
}
