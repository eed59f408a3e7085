/** Events of a run of an agent: one JSON object per line. @see docs/reference/intern-runtimes.md#events */
export type AgentEvent =
  | { type: 'text' | 'reasoning'; text: string }
  /** The model that responded, once it is known. */
  | { type: 'model'; model: string }
  | { type: 'interaction'; interaction: AgentInteraction }
  | { type: 'end'; status: 'completed' | 'cancelled'; usage?: AgentUsage | undefined }
  | { type: 'end'; status: 'failed'; error: AgentFailure; usage?: AgentUsage | undefined };

/** The last event of a run. */
export type AgentEnd = Extract<AgentEvent, { type: 'end' }>;

export interface AgentFailure {
  message: string;
  /** Whether the same prompt can succeed later. */
  retryable?: boolean | undefined;
}

/** A question to the person. The run pauses until it is answered. */
export type AgentInteraction =
  | { id: string; kind: 'permission'; operation: string | null; options: PermissionOption[] }
  | { id: string; kind: 'elicitation'; message: string; fields: QuestionField[] };

export type PermissionOption = 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always';

export interface QuestionField {
  name: string;
  type: 'string' | 'number' | 'boolean';
  required: boolean;
  options?: string[] | undefined;
}

/** The answer of a person: an offered option or `cancel`, or the values of the fields. */
export type InteractionReply = PermissionOption | 'cancel' | QuestionReply;

export interface QuestionReply {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, unknown> | undefined;
}

/** The sums of all model calls of a run. */
export interface AgentUsage {
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  /** USD. */
  cost: number;
}

/** The body of `POST /.headgate/runs`. */
export interface RunRequest {
  run_id: string;
  session_id: string;
  input: string;
  approval_mode: 'self-drive' | 'manual';
  /** The header `X-Headgate-Tags` of its model calls. Absent: it has no tags. */
  tags?: string;
}
