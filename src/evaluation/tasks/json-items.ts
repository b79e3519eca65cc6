/**
 * Where the items of a list lie in its JSON: the list that is the whole of it, or the member `tasks` of an object. What
 * `JSON.parse` gives has no places, and its errors often have none.
 *
 * @returns the line, from 1, on which each item begins, and that of the first place that is not JSON.
 */
export function findJsonItems(text: string): {
  readonly lines: readonly number[];
  readonly faultLine: number | undefined;
} {
  const scan = new JsonScan(text);
  const offset = scan.run();
  const [lines, faults] = [toLines(text, scan.items), offset === undefined ? [] : toLines(text, [offset])];
  return { lines, faultLine: faults[0] };
}

/** After which a value, a name or the end of a container may come. */
type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end' | 'nothing';

const BLANK = /[ \t\n\r]*/y;
const LITERAL = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

class JsonScan {
  /** Offsets at which the items begin. */
  readonly items: number[] = [];
  readonly #text: string;
  /** The containers that are open: `[` or `{`. */
  readonly #open: string[] = [];
  #expected: Expected = 'value';
  #at = 0;
  /** The member of the outermost object that is being read. */
  #member = '';

  constructor(text: string) {
    this.#text = text;
  }

  /** @returns the offset of the first fault. */
  run(): number | undefined {
    for (;;) {
      this.#at = this.#end(BLANK) ?? this.#at;
      if (this.#at >= this.#text.length) return this.#expected === 'nothing' ? undefined : this.#at;
      if (!this.#step(this.#text[this.#at] ?? '')) return this.#at;
    }
  }

  #step(character: string): boolean {
    const expected = this.#expected;
    if (expected === 'nothing') return false;
    if ((character === ']' || character === '}') && expected.endsWith('end')) return this.#close(character);
    if (expected === 'colon') return this.#expectAfter(character, ':', 'value');
    if (expected === 'comma or end') {
      return this.#expectAfter(character, ',', this.#open.at(-1) === '{' ? 'name' : 'value');
    }
    if (expected.startsWith('name')) return character === '"' && this.#name();
    return this.#value(character);
  }

  #expectAfter(character: string, wanted: string, next: Expected): boolean {
    if (character !== wanted) return false;
    this.#at += 1;
    this.#expected = next;
    return true;
  }

  #close(character: string): boolean {
    if (this.#open.pop() !== (character === ']' ? '[' : '{')) return false;
    this.#at += 1;
    this.#expected = this.#open.length === 0 ? 'nothing' : 'comma or end';
    return true;
  }

  #name(): boolean {
    const start = this.#at;
    if (!this.#string()) return false;
    if (this.#open.length === 1) this.#member = this.#text.slice(start + 1, this.#at - 1);
    this.#expected = 'colon';
    return true;
  }

  #value(character: string): boolean {
    const [outer, inner] = this.#open;
    const isItem = this.#open.length === 1 ? outer === '[' : this.#open.length === 2 && inner === '[';
    if (isItem && (outer === '[' ? this.#open.length === 1 : this.#member === 'tasks')) this.items.push(this.#at);
    if (character === '[' || character === '{') {
      this.#open.push(character);
      this.#at += 1;
      this.#expected = character === '[' ? 'value or end' : 'name or end';
      return true;
    }
    if (character === '"' ? !this.#string() : !this.#literal()) return false;
    this.#expected = this.#open.length === 0 ? 'nothing' : 'comma or end';
    return true;
  }

  #literal(): boolean {
    const end = this.#end(LITERAL);
    if (end === undefined) return false;
    this.#at = end;
    return true;
  }

  /** By hand: an expression for a text of megabytes would exhaust its stack. Leaves the place of a fault. */
  #string(): boolean {
    for (this.#at += 1; this.#at < this.#text.length; this.#at++) {
      const character = this.#text.charCodeAt(this.#at);
      if (character === 0x22) {
        this.#at += 1;
        return true;
      }
      if (character < 0x20) return false;
      if (character !== 0x5c) continue;
      const end = this.#end(ESCAPE);
      if (end === undefined) return false;
      this.#at = end - 1;
    }
    return false;
  }

  #end(pattern: RegExp): number | undefined {
    pattern.lastIndex = this.#at;
    return pattern.test(this.#text) ? pattern.lastIndex : undefined;
  }
}

/** @param offsets rising. */
function toLines(text: string, offsets: readonly number[]): readonly number[] {
  let line = 1;
  let next = text.indexOf('\n');
  return offsets.map((offset) => {
    for (; next !== -1 && next < offset; next = text.indexOf('\n', next + 1)) line += 1;
    return line;
  });
}
