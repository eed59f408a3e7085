import { isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { isMapping, type Path } from './path.ts';

/** The parsed file, without validation and defaults. */
export interface FileTree {
  tree: Record<string, unknown>;
  /** Returns the line (from 1) of the key or list item at a path, or of its nearest existing parent. */
  lineOf(path: Path): number;
  /** Syntax errors. They never quote the file, because it may contain a key. */
  problems: { line: number; message: string }[];
}

/*
 * In a flow mapping, `{ key: ${NAME} }`, YAML reads the second brace as a mapping. The braces of `${NAME}` are
 * therefore replaced with two Unicode noncharacters, which YAML does not allow, and restored after parsing.
 */
const openBrace = '\uFDD0';
const closeBrace = '\uFDD1';
const hideBraces = (text: string) =>
  text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*(?::[-?][^{}\n]*)?)\}/g, `$${openBrace}$1${closeBrace}`);
const showBraces = (text: string) => text.replaceAll(openBrace, '{').replaceAll(closeBrace, '}');

/** Parses YAML, which includes JSON. An empty file is an empty mapping. */
export function readTree(text: string): FileTree {
  const lines = new LineCounter();
  const document = parseDocument(hideBraces(text), { lineCounter: lines, prettyErrors: false, merge: true });
  const problems = document.errors.map((error) => ({
    line: lines.linePos(error.pos[0]).line,
    // the text after the colon quotes the file
    message: error.message.replace(/(: |").*$/s, '').replace(/\.?$/, ''),
  }));

  let tree: unknown = {};
  if (problems.length === 0) {
    try {
      tree = restore(document.toJS() ?? {});
    } catch {
      problems.push({ line: 1, message: 'Its aliases cannot be followed' });
    }
  }
  if (!isMapping(tree)) {
    problems.push({ line: 1, message: 'The file must be a mapping, as in "server: { port: 8787 }"' });
    tree = {};
  }
  return {
    tree: tree as Record<string, unknown>, // just checked
    problems,
    lineOf: (path) => lines.linePos(findOffset(document.contents, path)).line,
  };
}

function restore(value: unknown): unknown {
  if (typeof value === 'string') return showBraces(value);
  if (Array.isArray(value)) return value.map(restore);
  if (!isMapping(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [showBraces(key), restore(item)]));
}

function findOffset(contents: Node | null, path: Path): number {
  let here: unknown = contents;
  let offset = contents?.range?.[0] ?? 0;
  for (const step of path) {
    let next: unknown;
    if (isMap(here)) {
      const pair = here.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === step);
      if (!pair) break;
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset;
      next = pair.value;
    } else if (isSeq(here)) {
      next = here.items[step as number];
      if (isMap(next) || isScalar(next) || isSeq(next)) offset = next.range?.[0] ?? offset;
    } else break;
    here = next;
  }
  return offset;
}
