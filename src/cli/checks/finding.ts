/** What `headgate doctor` found out about one thing. */
export interface Finding {
  status: 'ok' | 'warn' | 'fail';
  subject: string;
  says: string;
  /** What to do, when there is something to do. */
  mend?: string;
}
