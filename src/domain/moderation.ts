/** The moderated input: the texts and the images of users, in the order of the input. */
export interface ModeratedContent {
  /** Pieces of the texts, which are short enough for an engine. */
  readonly texts: readonly string[];
  /** URLs and data URLs. */
  readonly images: readonly string[];
}

/** How sure an engine is that content is forbidden. */
export const confidenceLevels = ['low', 'medium', 'high'] as const;
export type ConfidenceLevel = (typeof confidenceLevels)[number];

/** The judgement on an input. */
export interface ModerationVerdict {
  readonly flagged: boolean;
  /** Names of the categories that are forbidden. Empty unless it is flagged. */
  readonly reasons: readonly string[];
  readonly confidence?: ConfidenceLevel | undefined;
  /** The flagged text; undefined for an image, and unless it is flagged. */
  readonly text?: string | undefined;
}

export const notFlagged: ModerationVerdict = { flagged: false, reasons: [] };

/** A moderation could not be done. The message is for callers: it has no secret, no address and no foreign text. */
export class ModerationFailure extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ModerationFailure';
  }
}
