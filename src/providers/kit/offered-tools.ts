/** The tool that a name upstream refers to. */
export interface OfferedTool {
  name: string;
  kind: 'function' | 'custom';
  namespace?: string;
}

/** Name upstream → the tool that the caller offered. Plain functions are omitted. */
export type OfferedTools = ReadonlyMap<string, OfferedTool>;
