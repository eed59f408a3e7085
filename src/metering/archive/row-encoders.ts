import type { ColumnSource } from 'hyparquet-writer';
import { type ArchiveFiles, type ArchiveRow, archiveColumns } from '../../platform/storage/ports/archives.ts';
import { nameColumn, serializeLines, typeOfColumn, writeRowLine } from './row-lines.ts';

export type ArchiveFormat = keyof ArchiveFiles;
export const archiveFormats = ['jsonl', 'parquet'] as const satisfies ArchiveFormat[];

/** Encodes rows as one file. The same rows have the same bytes, whatever their pages are. */
export interface RowEncoder {
  add(rows: readonly ArchiveRow[]): Uint8Array;
  /** Returns the end of the file. */
  end(): Uint8Array;
}

/** Creates an encoder. JSONL is not compressed. */
export const createRowEncoder = async (format: ArchiveFormat): Promise<RowEncoder> =>
  format === 'parquet' ? createParquetEncoder() : lineEncoder;

const lineEncoder: RowEncoder = {
  add: (rows) => Buffer.from(rows.map(writeRowLine).join('')),
  end: () => new Uint8Array(),
};

/** Rows of a group of Parquet. They are in memory. */
const GROUP_ROWS = 5000;

const parquetTypes = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT64' },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
  flag: { type: 'BOOLEAN' },
} as const;

/** Columns in the order of the file. The last one has the lines of an entry as JSON. */
const columns = [
  ...Object.entries(archiveColumns).map(([column, type]) => ({
    column,
    element: {
      name: nameColumn(column),
      ...parquetTypes[typeOfColumn(column)!],
      repetition_type: type.endsWith('?') ? 'OPTIONAL' : 'REQUIRED',
    } as const,
  })),
  { column: 'lines', element: { name: 'lines', ...parquetTypes.json, repetition_type: 'OPTIONAL' } as const },
];

async function createParquetEncoder(): Promise<RowEncoder> {
  const { ByteWriter, ParquetWriter } = await import('hyparquet-writer');
  const writer = new ByteWriter();
  const file = new ParquetWriter({
    writer,
    schema: [{ name: 'ledger', num_children: columns.length }, ...columns.map(({ element }) => element)],
    createdBy: 'headgate',
  });
  let rows: ArchiveRow[] = [];
  const writeGroup = (group: readonly ArchiveRow[]): void =>
    void file.write({ columnData: columns.map((column) => readColumn(column, group)), rowGroupSize: GROUP_ROWS });
  /** Returns the bytes that were written since the last call. The writer keeps the offset in the file. */
  const take = (): Uint8Array => {
    const bytes = Uint8Array.from(writer.getBytes());
    writer.index = 0;
    return bytes;
  };
  return {
    add(page) {
      rows.push(...page);
      for (; rows.length >= GROUP_ROWS; rows = rows.slice(GROUP_ROWS)) writeGroup(rows.slice(0, GROUP_ROWS));
      return take();
    },
    end() {
      if (rows.length > 0) writeGroup(rows);
      void file.finish();
      return take();
    },
  };
}

function readColumn({ column, element }: (typeof columns)[number], rows: readonly ArchiveRow[]): ColumnSource {
  const { name } = element;
  if (column === 'lines') {
    return { name, data: rows.map(({ lines }) => (lines.length === 0 ? null : JSON.stringify(serializeLines(lines)))) };
  }
  const data = rows.map(({ values }) => values[column]!);
  return { name, data: typeOfColumn(column) === 'flag' ? data.map((value) => value !== 0n) : data };
}
