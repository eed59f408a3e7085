/** A command of a resource: what it sends and prints, as its route says. `commands.json` has all of them. */
export interface ResourceCommand {
  /** `workspaces budgets list`. Routes with the same name are variants: the one whose parameters are all given is used. */
  name: string;
  /** The operation id of the route. */
  id: string;
  summary: string;
  method: string;
  /** The name of the parts that its handler needs. */
  api: string;
  /** Whether a key of a workspace calls it. */
  isScoped?: true;
  /** Whether the command calls each of its routes whose options are given, instead of one. */
  isPart?: true;
  /** Whether its last word can be left out. */
  isDefault?: true;
  params: ResourceParam[];
  options: ResourceOption[];
  /** Fields that it always sends. */
  sends?: Record<string, unknown>;
  /** `form`: a file. `any`: a body without options. */
  body?: 'object' | 'form' | 'any';
  response: 'list' | 'object' | 'content';
  /** Whether the response can warn of unknown models and providers. */
  warns?: true;
  /** The columns of a list: fields, or a title and a field. */
  columns?: string[];
  /** The maximum rows of a page, and the parameter that requests the next one. */
  paging?: { limit?: number; next: string };
}

/** A parameter of the path. */
export interface ResourceParam {
  name: string;
  /** The noun that the command shows. */
  label: string;
  help: string;
  /** The operation that lists the objects that it can name. Absent: it is sent unchanged. */
  of?: string;
  /** Its option. Absent: it is an argument. */
  flags?: string;
}

/** A field of the body, or a parameter of the query. */
export interface ResourceOption {
  field: string;
  /** `--limit-usd <number>`; an argument has no dashes: `<names...>`. */
  flags: string;
  place: 'body' | 'query';
  kind: 'text' | 'number' | 'switch' | 'words' | 'list' | 'json' | 'secret' | 'file';
  help: string;
  /** Whether the word `none` is null. */
  isNullable?: true;
  isRequired?: true;
  /** Whether `-` reads the standard input. */
  isLong?: true;
  /** The operation that lists the objects that it can name. */
  of?: string;
}
