import { Type } from 'typebox';
import { DEFAULT_STORE } from '../default-store.ts';
import { milliseconds } from './fields.ts';

const masterKeyFile = (what: string) =>
  Type.Optional(
    Type.String({
      description: `File with the ${what}, such as a mounted secret. White space at its ends does not count.`,
      minLength: 1,
      restart: true,
    }),
  );

const masterKeyCommand = (what: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description: `Program and arguments that print the ${what}, such as the client of a key management service. It runs once per start of a process, without a shell, for at most 10 s.`,
      minItems: 1,
      restart: true,
    }),
  );

/** A name in SQL that needs no quotes. */
const sqlName = (description: string, value: string) =>
  Type.String({
    description,
    default: value,
    pattern: '^[A-Za-z_][A-Za-z0-9_]{0,99}$',
    says: 'must be letters, digits and `_`, without a digit at the beginning',
    restart: true,
  });

export const storageSection = Type.Object({
  url: Type.String({
    description:
      'URL of the store: `file:…` (SQLite, relative to the working directory) or `postgres://…`. `<data>` is the data folder.',
    default: DEFAULT_STORE,
    pattern: '^(file:.|postgres(ql)?://.)',
    says: 'must be `file:` and a path, or a `postgres://` URL',
    secret: true,
    restart: true,
  }),
  grace_ms: milliseconds(
    'How long the gateway serves requests with the keys and limits in memory while the store is unavailable. After that, requests are a 503.',
    600_000,
    0,
  ),
});

export const ledgerSection = Type.Object({
  durability: Type.Enum(['standard', 'strict'], {
    description:
      'When a response may end. `standard`: after its ledger entry is written, which survives `kill -9`; a power failure may lose the last 100 ms. `strict`: after the entry is synced to the disk of the data folder. That takes the time of an `fdatasync`, which many responses share.',
    default: 'standard',
  }),
  clickhouse: Type.Optional(
    Type.Object(
      {
        url: Type.String({
          description: 'URL of the HTTP interface: `https://clickhouse.internal:8443`.',
          pattern: '^https?://[^\\s@/?#]+/?$',
          says: 'must be an http or https URL without credentials, path and query',
          restart: true,
        }),
        database: sqlName('Database of the table.', 'default'),
        table: sqlName('Name of the table. Create it with `headgate ledger clickhouse-table`.', 'headgate_ledger'),
        user: Type.String({
          description: 'User with the rights to insert into the table and to select from it.',
          default: 'default',
          minLength: 1,
          restart: true,
        }),
        password: Type.Optional(Type.String({ description: 'Password of the user.', secret: true, restart: true })),
        timeout_ms: milliseconds('Timeout of one request.', 30_000, 1, { restart: true }),
      },
      {
        description:
          'Sends each row of the ledger to a table of ClickHouse, once. Absent: none. Guide: [exports](../guides/exports.md#clickhouse).',
      },
    ),
  ),
  files: Type.Optional(
    Type.Object(
      {
        prefix: Type.String({
          description: 'Beginning of the names of the objects.',
          default: 'exports/ledger',
          pattern: '^exports(/[A-Za-z0-9_.=-]{1,100}){1,8}$',
          says: 'must be `exports/` and names of letters, digits and `_.=-`, with `/` between them',
          restart: true,
        }),
        contents: Type.Boolean({
          description: 'Whether the lines have the inputs and outputs of workspaces that keep them.',
          default: false,
          restart: true,
        }),
      },
      {
        description:
          'Writes the rows of each hour to the store of files (`files.url`) as lines of JSON. Absent: none. Guide: [exports](../guides/exports.md#objects-of-each-hour).',
      },
    ),
  ),
  retention_days: Type.Optional(
    Type.Integer({
      description:
        'Days that entries stay in the ledger after the end of their day (UTC). Then the day moves to the store of files (`files.url`) as Parquet and JSONL, and its entries are deleted. Sums and reports keep it. A workspace can differ (`ledger_retention_days`). Absent: entries stay.',
      minimum: 1,
      maximum: 36_500,
    }),
  ),
});

export const countersSection = Type.Object({
  url: Type.String({
    description:
      'Store of the limit and budget counters that several hosts share: `redis://…` or `valkey://…` (`rediss:`, `valkeys:` with TLS). Several URLs with commas between them: nodes of a Cluster, or Sentinels. Empty: the PostgreSQL of `storage.url`, else the memory of the process. `memory`: always the memory of the process.',
    default: '',
    pattern: '^(|memory|(redis|valkey)s?://.+)$',
    says: 'must be `redis://` or `valkey://` URLs, `memory`, or empty',
    restart: true,
    secret: true,
  }),
  sentinel: Type.Optional(
    Type.Object(
      {
        primary: Type.String({
          description:
            'Name of the primary that the Sentinels monitor. Its user and password are those of the first URL.',
          minLength: 1,
          restart: true,
        }),
        password: Type.Optional(
          Type.String({ description: 'Password of the Sentinels.', minLength: 1, restart: true, secret: true }),
        ),
      },
      { description: 'Absent: `counters.url` names servers. Otherwise it names Sentinels, which know the primary.' },
    ),
  ),
  timeout_ms: milliseconds(
    'Timeout of the counters. After a timeout, requests do not wait for them until they respond again.',
    250,
  ),
  on_failure: Type.Enum(['open', 'closed'], {
    description:
      'Behavior while the counters are unavailable. `open`: each process counts for itself: rates without a time limit, budgets for `grace_ms`. `closed`: requests with limits are a 503.',
    default: 'open',
  }),
  grace_ms: milliseconds(
    'How long each process then counts budgets for itself. After that, requests with budgets are a 503.',
    600_000,
    0,
  ),
});

export const secretsSection = Type.Object({
  master_key: Type.Optional(
    Type.String({
      description:
        'Key that encrypts vaults, and of the hashes of end-user ids and signatures of transcripts. Give all hosts the same one. Without this key and the two below, one is created at the first start and kept in the data folder (mode 0600).',
      minLength: 1,
      restart: true,
      secret: true,
    }),
  ),
  master_key_file: masterKeyFile('master key'),
  master_key_command: masterKeyCommand('master key'),
  previous_master_key: Type.Optional(
    Type.String({
      description: 'The master key before, until `headgate vault rotate --master-key` has ended.',
      minLength: 1,
      restart: true,
      secret: true,
    }),
  ),
  previous_master_key_file: masterKeyFile('previous master key'),
  previous_master_key_command: masterKeyCommand('previous master key'),
});
