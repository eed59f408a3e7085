/** How the gateway routed a request. Wire shape. @see docs/reference/router-metadata.md */
export interface RouterMetadata {
  requested: string;
  strategy: 'direct' | 'auto' | 'free' | 'latest' | 'alias' | 'fallback' | 'pareto' | 'bodybuilder' | 'fusion';
  region: string;
  summary: string;
  attempt: number;
  is_byok: boolean;
  endpoints: { total: number; available: { provider: string; model: string; selected: boolean }[] };
  /** `message` of the failed ones. */
  attempts?: { provider: string; model: string; status: number; upstream_request_id?: string; message?: string }[];
  params?: Record<string, unknown>;
  pipeline?: StageRecord[];
  generation_time?: number;
}

/** The work of a pipeline stage. Only stages that changed or checked something have a record. */
export interface StageRecord {
  type: string;
  name: string;
  summary?: string;
  data?: Record<string, unknown>;
  /** Absent: it cannot cost anything. */
  cost_usd?: number;
}
