import { posix } from 'node:path';
import { readXml } from './read-xml.ts';
import type { ArchivePart, ZipArchive } from './zip-archive.ts';

/** A link from one part of an Office file to another, or out of it. */
export interface Relation {
  id: string;
  /** The last segment of its type: `slide`, `hyperlink`. */
  type: string;
  /** Name of a part, or a URL if it is external. */
  target: string;
  isExternal: boolean;
}

/**
 * Returns the relations of a part, by id.
 *
 * @param part empty for those of the package itself
 * @see ECMA-376 part 2
 */
export async function readRelations(archive: ZipArchive, part: string): Promise<ReadonlyMap<string, Relation>> {
  const folder = posix.dirname(part);
  const relations = new Map<string, Relation>();
  const found = archive.find(posix.join(folder, '_rels', `${posix.basename(part)}.rels`));
  if (!found) return relations;
  await readXml(found, {
    open(element, { Id: id, Type: type = '', Target: target, TargetMode: mode }) {
      if (element !== 'Relationship' || id === undefined || target === undefined) return;
      const isExternal = mode === 'External';
      relations.set(id, {
        id,
        type: type.slice(type.lastIndexOf('/') + 1),
        target: isExternal ? target : posix.resolve('/', folder, target).slice(1),
        isExternal,
      });
    },
  });
  return relations;
}

/** Returns the first part that a relation of a type names. */
export function findRelated(
  archive: ZipArchive,
  relations: ReadonlyMap<string, Relation>,
  type: string,
): ArchivePart | undefined {
  const found = relations.values().find((relation) => relation.type === type && !relation.isExternal);
  return archive.find(found?.target);
}
