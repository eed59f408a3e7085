import type { TextSetting } from './request.ts';

/** A format of the output that is JSON. */
export type JsonOutputFormat = Exclude<NonNullable<TextSetting['format']>, { type: 'text' }>;

/** A text after its repair, and whether it matches its format. */
export interface CheckedText {
  text: string;
  matches: boolean;
}
