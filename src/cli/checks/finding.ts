/** A result of `headgate doctor`. */
export interface Finding {
  status: 'ok' | 'warn' | 'fail';
  subject: string;
  says: string;
  /** How to fix it. */
  fix?: string;
}
