/** Levels that the log writes. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

interface MessageShape {
  /** The first is the default. */
  levels: readonly [LogLevel, ...LogLevel[]];
  fields: readonly string[];
}

const request = ['request_id', 'generation_id', 'method', 'route', 'model', 'provider'] as const;
const failure = ['kind', 'status', 'error_type', 'provider_code', 'cause', 'err', 'error'] as const;

/**
 * All messages of the log. The text of a message is constant, so that operators can search for it. Values are in the
 * fields.
 *
 * @see docs/reference/logs.md
 */
export const logMessages = {
  request: {
    levels: ['info', 'debug'],
    fields: [
      'request_id',
      'generation_id',
      'method',
      'route',
      'status',
      'cancelled',
      'duration_ms',
      'made_by_gateway',
      'parent_id',
      'workspace_id',
      'requested_model',
      'model',
      'provider',
      'streamed',
      'outcome',
      'error_type',
      'attempts',
      'failed_attempts',
      'queue_ms',
      'overhead_ms',
      'first_output_ms',
      'upstream_ms',
      'input_tokens',
      'cached_tokens',
      'output_tokens',
      'reasoning_tokens',
      'cost_usd',
      'estimated',
      'end_user',
    ],
  },
  'request failed': { levels: ['warn', 'error', 'debug'], fields: [...request, ...failure] },
  'attempt failed': {
    levels: ['info', 'warn', 'debug'],
    fields: ['request_id', 'generation_id', 'model', 'provider', 'rescued', ...failure],
  },
  'provider key rejected': { levels: ['error'], fields: ['provider', 'key', 'provider_code', 'error', 'count'] },
  'service key rejected': { levels: ['error'], fields: ['service', 'status', 'count'] },
  'request fields dropped': {
    levels: ['info'],
    fields: ['request_id', 'generation_id', 'key_name', 'key_hash', 'model', 'provider', 'fields'],
  },
  'plugin failed': { levels: ['error'], fields: ['plugin', 'generation_id', 'err'] },
  'plugin promise rejected': { levels: ['error'], fields: ['err'] },
  'tool failed': { levels: ['warn'], fields: ['tool', 'err'] },
  'key rejected': { levels: ['warn'], fields: ['key_name', 'key_hash', 'reason', 'count'] },
  'unknown key rejected': { levels: ['info'], fields: ['key_hash', 'count'] },
  'key refresh failed': { levels: ['error'], fields: ['err'] },
  'key refresh recovered': { levels: ['info'], fields: [] },
  'limit refresh failed': { levels: ['warn'], fields: ['err'] },
  'counters unavailable': { levels: ['warn'], fields: ['err', 'on_failure', 'grace_ms'] },
  'counters recovered': { levels: ['info'], fields: [] },
  'counters close failed': { levels: ['warn'], fields: ['err'] },
  'reservation release failed': { levels: ['warn'], fields: ['err', 'requests'] },
  'journal write failed': { levels: ['error'], fields: ['err'] },
  'journal write recovered': { levels: ['info'], fields: [] },
  'journal sync failed': { levels: ['error'], fields: ['err'] },
  'journal sync recovered': { levels: ['info'], fields: [] },
  'journal truncation failed': { levels: ['error'], fields: ['err'] },
  'journal truncation recovered': { levels: ['info'], fields: [] },
  'journal lines quarantined': { levels: ['error'], fields: ['lines', 'file'] },
  'orphaned journals not stored': { levels: ['error'], fields: ['err'] },
  'interrupted requests recorded': { levels: ['warn'], fields: ['requests'] },
  'ledger write failed': { levels: ['error'], fields: ['err', 'queued'] },
  'ledger write recovered': { levels: ['info'], fields: [] },
  'ledger flush failed': { levels: ['error'], fields: ['err'] },
  'ledger entry quarantined': { levels: ['error'], fields: ['cause', 'generation_id', 'file'] },
  'ledger entries lost': { levels: ['error'], fields: ['err', 'entries'] },
  'cost capped': { levels: ['error'], fields: ['generation_id', 'model', 'provider', 'cost_usd'] },
  'clock skew detected': { levels: ['warn'], fields: ['ahead_ms'] },
  'clock skew ended': { levels: ['info'], fields: [] },
  'spending rollup failed': { levels: ['warn'], fields: ['err', 'retry_in_ms'] },
  'traffic refresh failed': { levels: ['warn'], fields: ['err'] },
  'content unreadable': { levels: ['warn'], fields: ['cause'] },
  'content queue full': { levels: ['warn'], fields: ['max_pending_bytes'] },
  'content write failed': { levels: ['warn'], fields: ['cause'] },
  'content flush failed': { levels: ['warn'], fields: ['cause'] },
  'content deletion failed': { levels: ['warn'], fields: ['err'] },
  'file index failed': { levels: ['warn'], fields: ['err'] },
  'file sweep failed': { levels: ['warn'], fields: ['err'] },
  'sandbox start failed': { levels: ['warn'], fields: ['container', 'workspace_id', 'err'] },
  'intern runtime ended': { levels: ['warn'], fields: ['intern', 'reason', 'restarts'] },
  'intern save failed': { levels: ['error'], fields: ['intern', 'err'] },
  'job failed': { levels: ['warn'], fields: ['job', 'err'] },
  'jobs unavailable': { levels: ['warn'], fields: ['err'] },
  'intern provisioning failed': { levels: ['warn'], fields: ['intern', 'err'] },
  'intern unhealthy': { levels: ['warn'], fields: ['intern', 'detail'] },
  'intern restarted': { levels: ['info'], fields: ['intern'] },
  'intern restart failed': { levels: ['warn'], fields: ['intern', 'err'] },
  'intern stop failed': { levels: ['warn'], fields: ['intern', 'err'] },
  'scheduled run not completed': { levels: ['warn'], fields: ['intern', 'schedule', 'reason'] },
  'intern removal failed': { levels: ['warn'], fields: ['intern', 'err'] },
  'sandbox stop failed': { levels: ['warn'], fields: ['container', 'workspace_id', 'err'] },
  'sandbox ended': { levels: ['warn'], fields: ['container', 'workspace_id', 'reason', 'err'] },
  'container save failed': { levels: ['warn'], fields: ['container', 'workspace_id', 'err'] },
  'container leases not renewed': { levels: ['warn'], fields: ['err'] },
  'vault sweep failed': { levels: ['warn'], fields: ['err'] },
  'container sweep failed': { levels: ['warn'], fields: ['err'] },
  'texts not analyzed': { levels: ['warn'], fields: ['detail', 'count'] },
  'egress refused': { levels: ['info'], fields: ['sandbox', 'workspace_id', 'host', 'port', 'reason'] },
  'egress client rejected': { levels: ['warn'], fields: ['address', 'count'] },
  'vaults locked': { levels: ['error'], fields: ['keys'] },
  'secret release failed': { levels: ['error'], fields: ['sandbox', 'workspace_id', 'err'] },
  'outbound fetch failed': { levels: ['warn'], fields: ['reason', 'origin', 'detail'] },
  'mcp server failed': { levels: ['warn'], fields: ['server', 'tool', 'fault', 'code'] },
  'mcp server exited': { levels: ['warn'], fields: ['server', 'code', 'signal', 'stderr'] },
  'web search failed': { levels: ['warn'], fields: ['engine', 'driver', 'reason', 'status'] },
  'moderation failed': { levels: ['warn'], fields: ['generation_id', 'engine', 'reason', 'status'] },
  'file parser failed': { levels: ['warn'], fields: ['detail'] },
  'ocr failed': { levels: ['warn'], fields: ['reason', 'status'] },
  'span creation failed': { levels: ['warn'], fields: ['err'] },
  'trace export failed': { levels: ['warn'], fields: ['err', 'spans'] },
  'trace flush failed': { levels: ['warn'], fields: ['err'] },
  'bus disconnected': { levels: ['warn'], fields: ['err'] },
  'bus reconnected': { levels: ['info'], fields: [] },
  'store close failed': { levels: ['error'], fields: ['err'] },
  'worker ended': { levels: ['error'], fields: ['worker', 'pid', 'ending'] },
  'worker start failed': { levels: ['error'], fields: ['worker', 'err'] },
  'worker killed': { levels: ['error'], fields: ['worker', 'pid', 'reason'] },
  'bootstrap keys orphaned': { levels: ['warn'], fields: ['detail'] },
  'catalog file skipped': { levels: ['warn'], fields: ['detail'] },
  'provider wire found': { levels: ['info'], fields: ['provider', 'wire'] },
  'provider wire unknown': { levels: ['warn'], fields: ['provider', 'base_url'] },
  'config reloaded': { levels: ['info'], fields: ['changed'] },
  'config restart required': { levels: ['warn'], fields: ['changed'] },
  'config warning': { levels: ['warn'], fields: ['detail'] },
  'config rejected': { levels: ['warn'], fields: ['problems'] },
  'shutdown started': { levels: ['info'], fields: ['signal', 'grace_ms'] },
} as const satisfies Record<string, MessageShape>;

export type LogMessage = keyof typeof logMessages;
export type LogFields<Message extends LogMessage> = Partial<
  Record<(typeof logMessages)[Message]['fields'][number], unknown>
>;

/** Writes one line into the log. Without a level, the line has the first level of its message. */
export type WriteLog = <Message extends LogMessage>(
  message: Message,
  fields?: LogFields<Message>,
  level?: (typeof logMessages)[Message]['levels'][number],
) => void;
