import type { TSchema } from 'typebox';

/** The sections of the document, with their descriptions. */
export const tags = {
  Inference: 'Calls of models.',
  Models: 'The models that the gateway serves to the key.',
  Generations: 'Records of requests, and feedback on them.',
  Keys: 'Inference keys.',
  Workspaces: 'Workspaces, their members and their budgets.',
  Members: 'Members of the organization.',
  Guardrails: 'Rules about models, providers, spending and content.',
  Presets: 'Saved settings of requests.',
  Vaults: 'Secrets of workspaces and interns.',
  Files: 'Files of a workspace, and files of containers.',
  Interns: 'Persistent agents of a workspace.',
  Accounting: 'Credits, activity and the audit log.',
  Alerts: 'Alerts and their webhooks.',
  Console: 'Sessions of the web console.',
  Gateway: 'The gateway itself.',
} as const;

export type Tag = keyof typeof tags;

/** A parameter of the query or a header. */
export interface Parameter {
  description: string;
  schema: TSchema;
  required?: boolean;
  deprecated?: boolean;
}

/** The description of a route. */
export interface Operation {
  id: string;
  tag: Tag;
  /** A sentence without a period, verb first: `List the keys`. */
  summary: string;
  /** More sentences. */
  description?: string;
  /** Schemas of parameters of the path. Absent: any text. */
  path?: Record<string, TSchema>;
  query?: Record<string, Parameter>;
  /** Headers besides those that every request may have. */
  headers?: Record<string, Parameter>;
  /** The schema of a JSON body, of the fields of a form, or of a text. Absent: no body. */
  body?: { schema: TSchema; type?: 'multipart/form-data' | 'text/plain'; isOptional?: boolean; example?: unknown };
  /** The successful response. */
  response: {
    /** 200 by default. */
    status?: 200 | 201 | 202 | 204;
    description: string;
    /** The schema of the JSON body. Absent: `type` is not JSON. */
    schema?: TSchema;
    /** The media type if it is not JSON. */
    type?: string;
    example?: unknown;
    /** The body of a streamed response. */
    stream?: string;
    /** Another successful status with the same body, and when it is sent. */
    other?: { status: number; description: string };
  };
  /** Statuses besides those that every route with the same permission has. */
  statuses?: readonly number[];
  /** Those of them that the route never has. */
  lacks?: readonly number[];
  /** The schema of errors. Absent: the error envelope. */
  error?: TSchema;
}
