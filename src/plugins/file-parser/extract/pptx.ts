import { damaged } from './file-fault.ts';
import type { Markdown } from './markdown.ts';
import { findRelated, readRelations } from './office-package.ts';
import { readXml } from './read-xml.ts';
import type { ArchivePart, ZipArchive } from './zip-archive.ts';

/**
 * Writes the slides of a presentation in order: titles, texts, tables and notes. Hidden slides are omitted.
 *
 * @param main its main part, `ppt/presentation.xml`
 * @returns the number of slides
 * @throws {FileFault}
 */
export async function readPptx(archive: ZipArchive, main: ArchivePart, out: Markdown): Promise<number> {
  const relations = await readRelations(archive, main.name);
  const slides: string[] = [];
  await readXml(main, {
    open(name, attributes) {
      if (name !== 'sldId') return;
      const relation = relations.get(attributes['r:id'] ?? '');
      if (relation?.type === 'slide') slides.push(relation.target);
    },
  });
  for (const [index, slide] of slides.entries()) {
    const part = archive.find(slide);
    if (!part) throw damaged(`its slide ${index + 1} is missing`);
    const { title, blocks, isHidden } = await readShapes(part);
    if (isHidden) continue;
    out.block(`## Slide ${index + 1}${title === '' ? '' : `: ${title}`}`);
    for (const block of blocks) {
      if (typeof block === 'string') out.block(block);
      else out.table(block);
    }
    const notes = findRelated(archive, await readRelations(archive, slide), 'notesSlide');
    const texts = notes ? (await readShapes(notes)).blocks.filter((block) => typeof block === 'string') : [];
    if (texts.length > 0) out.block(`Notes: ${texts.join('\n')}`);
  }
  return slides.length;
}

interface Shapes {
  title: string;
  /** Texts and tables, in order. */
  blocks: (string | string[][])[];
  isHidden: boolean;
}

/** Placeholders that repeat on each slide. */
const furniture = new Set(['sldNum', 'ftr', 'dt', 'hdr', 'sldImg']);

async function readShapes(part: ArchivePart): Promise<Shapes> {
  const shapes: Shapes = { title: '', blocks: [], isHidden: false };
  let placeholder: string | undefined;
  let paragraphs: string[] = [];
  let paragraph = '';
  let level = 0;
  let rows: string[][] | undefined;
  let isText = false;
  const endShape = (): void => {
    const text = paragraphs.filter((each) => each.trim() !== '').join('\n');
    paragraphs = [];
    if (text === '' || furniture.has(placeholder ?? '')) return;
    const isTitle = placeholder === 'title' || placeholder === 'ctrTitle';
    if (isTitle && shapes.title === '') shapes.title = text.replace(/\s+/g, ' ');
    else shapes.blocks.push(text);
  };
  await readXml(part, {
    open(name, attributes) {
      if (name === 'sld') shapes.isHidden = attributes['show'] === '0' || attributes['show'] === 'false';
      else if (name === 'sp') placeholder = undefined;
      else if (name === 'ph') placeholder = attributes['type'] ?? 'body';
      else if (name === 'p') {
        paragraph = '';
        level = 0;
      } else if (name === 'pPr') level = Math.min(Number(attributes['lvl']) || 0, 8);
      else if (name === 't') isText = true;
      else if (name === 'br') paragraph += '\n';
      else if (name === 'tbl') {
        placeholder = undefined;
        rows = [];
      } else if (name === 'tr') rows?.push([]);
    },
    text(text) {
      if (isText) paragraph += text;
    },
    close(name) {
      if (name === 't') isText = false;
      else if (name === 'p') paragraphs.push(level > 0 ? `${'  '.repeat(level)}- ${paragraph}` : paragraph);
      else if (name === 'tc') {
        rows?.at(-1)?.push(paragraphs.join('\n'));
        paragraphs = [];
      } else if (name === 'tbl') {
        if (rows) shapes.blocks.push(rows);
        rows = undefined;
      } else if (name === 'sp' || name === 'graphicFrame') endShape();
    },
  });
  return shapes;
}
