/** What a client reads in a response, in no format. */
export interface Seen {
  text: string;
  reasoning: string;
  /** Signatures and encrypted reasoning. */
  opaque: string[];
  calls: { id: string; name: string; input: unknown }[];
  images: string[];
  /** URLs or titles of citations, in order. */
  cited: string[];
  refusal: string;
  /** The word of the API for the end. */
  end: string;
  /** Tokens in, tokens out; undefined without a usage. */
  usage: [number, number] | undefined;
  /** What the client sends back in the next turn: the response object, or the message. */
  raw: Record<string, unknown>;
}
