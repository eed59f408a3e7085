/** A markdown link in a text: `[text](url)`. Positions are in UTF-16 units; `end` is after the last character. */
export interface FoundLink {
  readonly url: string;
  readonly start: number;
  readonly end: number;
}

const MAX_URL = 2048;
/** Open brackets that may begin a link. More are forgotten, oldest first. */
const MAX_OPEN = 16;

/** Finds the markdown links of a text that arrives in pieces, each link as soon as it is complete. */
export class LinkScanner {
  /** Characters read so far. */
  position = 0;
  /** Positions of brackets that are open. */
  private readonly open: number[] = [];
  /** Position of the link in progress. */
  private start = 0;
  /** `closed`: after `]`. `url` and `title`: inside the parentheses. */
  private state: 'text' | 'closed' | 'url' | 'title' = 'text';
  private url = '';
  /** Open parentheses of the URL. */
  private depth = 0;

  /** @returns the links that end in this piece; undefined: none */
  read(piece: string): FoundLink[] | undefined {
    let found: FoundLink[] | undefined;
    for (let at = 0; at < piece.length; at++) {
      if (this.take(piece[at]!)) {
        found ??= [];
        found.push({ url: this.url, start: this.start, end: this.position + at + 1 });
      }
      // `[` and `]` need the position
      else if (this.state === 'text') this.takeBracket(piece[at]!, this.position + at);
    }
    this.position += piece.length;
    return found;
  }

  private takeBracket(character: string, position: number): void {
    if (character === '[') {
      if (this.open.length === MAX_OPEN) this.open.shift();
      this.open.push(position);
    } else if (character === ']' && this.open.length > 0) {
      this.start = this.open.pop()!;
      this.state = 'closed';
    }
  }

  /** @returns whether the character ends a link */
  private take(character: string): boolean {
    switch (this.state) {
      case 'text':
        return false;
      case 'closed':
        this.state = character === '(' ? 'url' : 'text';
        this.url = '';
        this.depth = 0;
        return false;
      case 'title':
        if (character !== ')' && character !== '\n') return false;
        this.state = 'text';
        return character === ')';
      case 'url':
        return this.takeUrl(character);
    }
  }

  private takeUrl(character: string): boolean {
    if (character === ')' && this.depth === 0) {
      this.state = 'text';
      return this.url !== '';
    }
    if (/\s/.test(character)) {
      if (this.url !== '') this.state = 'title';
      return false;
    }
    if (character === '(') this.depth++;
    else if (character === ')') this.depth--;
    if (this.url.length === MAX_URL) this.state = 'text';
    else if (character !== '<' && character !== '>') this.url += character;
    return false;
  }
}
