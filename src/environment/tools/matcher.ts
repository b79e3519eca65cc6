import { type Context, createContext, Script } from 'node:vm';
import { ToolError } from '../authoring/tool-result.ts';

/** Milliseconds of processor time that one call may match with. A pattern can take longer than anybody waits. */
const MATCH_MS = 2_000;

const COMPILE = new Script('globalThis.compiled = new RegExp(pattern, flags); undefined');
const MATCH = new Script(
  "texts.split(separator).flatMap((text, index) => (text.length <= longest && compiled.test(text) ? [index] : [])).join(' ')",
);

/** A regular expression of an agent. It is ended when its time is over, since it may block the process for good. */
export class Matcher {
  readonly #context: Context;
  readonly #pattern: string;
  #leftMs = MATCH_MS;

  /** @throws ToolError for a pattern that is no regular expression. */
  constructor(pattern: string, flags = 'u') {
    this.#pattern = pattern;
    this.#context = createContext({ pattern, flags });
    try {
      COMPILE.runInContext(this.#context, { timeout: MATCH_MS });
    } catch (error) {
      throw new ToolError(`The pattern ${pattern} is no regular expression: ${toMessage(error)}`, { cause: error });
    }
  }

  /** Indexes of the parts that match. Parts that are longer than `longest` are passed over. */
  indexes(texts: string, separator: string, longest: number): readonly number[] {
    Object.assign(this.#context, { texts, separator, longest });
    const startedAt = performance.now();
    try {
      const found: unknown = MATCH.runInContext(this.#context, { timeout: Math.max(1, Math.ceil(this.#leftMs)) });
      return String(found).split(' ').filter(Boolean).map(Number);
    } catch (error) {
      throw new ToolError(`The pattern ${this.#pattern} takes too long. Use a simpler one, or a smaller folder.`, {
        cause: error,
      });
    } finally {
      this.#leftMs -= performance.now() - startedAt;
    }
  }
}

/** Errors of another context are no `Error` of this one. */
function toMessage(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
}

/** A glob as a regular expression: `**`, `*`, `?`, `[…]` and `{a,b}`. Stars match no slash; `**` matches folders. */
export function globToPattern(glob: string): string {
  let depth = 0;
  const pieces = glob.match(/\*\*\/|\*\*|\[!?\]?[^\]]*\]|[\s\S]/g) ?? [];
  const translated = pieces.map((piece) => {
    if (piece === '**/') return '(?:[^/]+/)*';
    if (piece === '**') return '.*';
    if (piece === '*') return '[^/]*';
    if (piece === '?') return '[^/]';
    if (piece.length > 1)
      return `[${piece.slice(1, -1).replace(/^!/, '^').replaceAll('\\', '\\\\').replaceAll('[', '\\[')}]`;
    if (piece === '{') {
      depth += 1;
      return '(?:';
    }
    if (piece === '}' && depth > 0) {
      depth -= 1;
      return ')';
    }
    if (piece === ',' && depth > 0) return '|';
    return piece.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&');
  });
  return `^${translated.join('')}${')'.repeat(depth)}$`;
}
