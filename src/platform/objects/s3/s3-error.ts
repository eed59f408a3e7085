interface S3ErrorDetails {
  /** Status of the response. Absent: there was none. */
  status?: number;
  /** Code of the server, such as `NoSuchKey`, or of the connection, such as `ECONNREFUSED`. */
  code?: string;
  /** Whether another try may succeed. */
  isTemporary?: boolean;
  /** Wait that the server requests. */
  retryAfterMs?: number;
  cause?: unknown;
}

/** A failed call of an S3 server. The message has the operation, the bucket and the server's reason, but no secret. */
export class S3Error extends Error {
  override readonly name = 'S3Error';
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly isTemporary: boolean;
  readonly retryAfterMs: number;

  constructor(message: string, { status, code, isTemporary = false, retryAfterMs = 0, cause }: S3ErrorDetails = {}) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.isTemporary = isTemporary;
    this.retryAfterMs = retryAfterMs;
  }
}
