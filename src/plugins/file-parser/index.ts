import type { EndpointFacts } from '../../domain/endpoint.ts';
import { GatewayError } from '../../domain/errors.ts';
import { type InputFilePart, type InputItem, partHolders, type ToolOutputPart } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { PluginPart } from '../../domain/plugin.ts';
import type { PluginSetting, RequestSettings, ResponseRequest } from '../../domain/request.ts';
import type { Plugin, PluginRun } from '../plugin.ts';
import { AnnotatingSink, type AnnotationState } from './annotating-sink.ts';
import type { FileAnnotation } from './file-annotations.ts';
import { type FilePorts, FileReading, type ReadFile, type TextEngine } from './file-reading.ts';
import { isFileId, looksLikeOffice, nameOf } from './file-source.ts';
import { MAX_IMAGES } from './mistral-ocr.ts';

/**
 * Makes text of files for endpoints that cannot read them. It acts on each request with files, unless the request turns
 * it off or names the engine `native`.
 *
 * @see docs/reference/plugins.md#file-parser
 */
export const createFileParser = (ports: FilePorts): Plugin => ({
  id: 'file-parser',
  prepare(run, setting): PluginPart<PluginRun> | undefined {
    const engine = readEngine(run.request, setting, ports);
    if (engine === 'native') return undefined;
    return new FilePart(new FileReading(run, ports, engine), { isNamed: setting !== undefined, engine });
  },
});

/** @throws {GatewayError} if the engine is not configured */
function readEngine(
  { plugins }: RequestSettings,
  setting: PluginSetting | undefined,
  ports: FilePorts,
): TextEngine | 'native' | undefined {
  const { engine } = (setting?.['pdf'] ?? {}) as { engine?: string }; // checked by its schema
  if (engine === 'native') return 'native';
  if (engine === 'mistral-ocr' && !ports.findOcr()) {
    const path = `plugins[${plugins?.indexOf(setting!) ?? 0}].pdf.engine`;
    const message =
      'This gateway has no OCR service for the engine mistral-ocr. The operator can configure one (plugins.file_parser.ocr). Use cloudflare-ai, or leave the engine out.';
    throw new GatewayError('invalid_request', `${path}: ${message}`, {
      metadata: { param: path, issues: [{ path, message }] },
    });
  }
  if (engine === 'mistral-ocr') return 'mistral-ocr';
  return engine === undefined ? undefined : 'cloudflare-ai'; // `pdf-text` is its older name
}

/** Settings of the file parser in a request. */
interface Wish {
  isNamed: boolean;
  engine: TextEngine | undefined;
}

/** Whether an endpoint gets PDFs and texts as files. Unknown abilities count as yes, unless the plugin is named. choice 380 */
const getsFiles = ({ capabilities: { input } }: EndpointFacts, { isNamed, engine }: Wish): boolean =>
  engine === undefined && (input ? input.includes('file') : !isNamed);

/** The file parser in one run. */
class FilePart implements PluginPart<PluginRun> {
  private readonly reading: FileReading;
  private readonly wish: Wish;
  private readonly state: AnnotationState = { current: [], writtenBy: undefined };
  /** Annotations of all files that were read, by hash. */
  private readonly annotations = new Map<string, FileAnnotation>();

  constructor(reading: FileReading, wish: Wish) {
    this.reading = reading;
    this.wish = wish;
  }

  adapt(request: ResponseRequest, endpoint: EndpointFacts): MaybePromise<ResponseRequest> {
    const parts = this.listParts(request.input, endpoint);
    this.state.current = [];
    return parts.size === 0 ? request : this.readParts(request, parts, endpoint);
  }

  open(_run: PluginRun, out: ConstructorParameters<typeof AnnotatingSink>[1]): AnnotatingSink {
    return new AnnotatingSink(this.state, out);
  }

  /** A request that the gateway itself rejects fails again, so the client need not keep the text. */
  describeFailure({ kind }: GatewayError): { file_annotations: FileAnnotation[] } | undefined {
    if (this.annotations.size === 0 || kind === 'permission_denied' || kind === 'payment_required') return undefined;
    return { file_annotations: [...this.annotations.values()] };
  }

  /** Lists the files that the endpoint gets as text, by their paths. */
  private listParts(input: readonly InputItem[], endpoint: EndpointFacts): Map<string, InputFilePart> {
    const takesFiles = getsFiles(endpoint, this.wish);
    const parts = new Map<string, InputFilePart>();
    forEachFile(input, (part, path) => {
      if (takesFiles ? looksLikeOffice(part) : !isFileId(part)) parts.set(path, part);
    });
    return parts;
  }

  private async readParts(
    request: ResponseRequest,
    parts: ReadonlyMap<string, InputFilePart>,
    { capabilities }: EndpointFacts,
  ): Promise<ResponseRequest> {
    const files = await this.reading.readAll(parts, request.input);
    const own: FileAnnotation[] = [];
    for (const { annotation } of files.values()) {
      if (!annotation || own.some(({ file }) => file.hash === annotation.file.hash)) continue;
      own.push(annotation);
      this.annotations.set(annotation.file.hash, annotation);
    }
    this.state.current = own;
    let imagesLeft = capabilities.input?.includes('image') ? MAX_IMAGES : 0;
    const input = replaceFiles(request.input, (part, path) => {
      const file = files.get(path);
      if (!file) return [part];
      const written = writeFile(part, file, imagesLeft);
      imagesLeft -= written.length - 1;
      return written;
    });
    return { ...request, input };
  }
}

/** Writes the text of a file, marked as such, and its images. choice 382 */
function writeFile(part: InputFilePart, { content }: ReadFile, imagesLeft: number): ToolOutputPart[] {
  const { cache_control: mark } = part;
  const texts = content.flatMap((piece) => (piece.type === 'text' ? [piece.text] : []));
  const images = content.flatMap((piece) => (piece.type === 'image_url' ? [piece.image_url.url] : []));
  const name = nameOf(part);
  const label = name === undefined ? '<file>' : `<file name="${escapeAttribute(name)}">`;
  return [
    { type: 'input_text', text: `${label}\n${texts.join('\n')}\n</file>`, ...(mark && { cache_control: mark }) },
    ...images.slice(0, imagesLeft).map((url): ToolOutputPart => ({ type: 'input_image', image_url: url })),
  ];
}

const escapeAttribute = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replace(/\s+/g, ' ');

type AnyPart = { type: string };

function partsOf(item: InputItem): { holder: string; parts: readonly AnyPart[] } | undefined {
  const holder = partHolders.get(item.type);
  const parts: unknown = holder && item[holder as keyof InputItem];
  return holder && Array.isArray(parts) && parts.some(isFile) ? { holder, parts } : undefined;
}

const isFile = (part: unknown): part is InputFilePart => (part as AnyPart | null)?.type === 'input_file';

function forEachFile(input: readonly InputItem[], look: (part: InputFilePart, path: string) => void): void {
  for (const [at, item] of input.entries()) {
    const found = partsOf(item);
    if (!found) continue;
    for (const [index, part] of found.parts.entries()) {
      if (isFile(part)) look(part, `input[${at}].${found.holder}[${index}]`);
    }
  }
}

const replaceFiles = (
  input: readonly InputItem[],
  replace: (part: InputFilePart, path: string) => readonly AnyPart[],
): InputItem[] =>
  input.map((item, at) => {
    const found = partsOf(item);
    if (!found) return item;
    const parts = found.parts.flatMap((part, index) =>
      isFile(part) ? replace(part, `input[${at}].${found.holder}[${index}]`) : [part],
    );
    return { ...item, [found.holder]: parts } as InputItem; // messages and tool outputs hold texts and images as well
  });
