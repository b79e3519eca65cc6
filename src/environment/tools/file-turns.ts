import { posix } from 'node:path';
import { ToolError } from '../authoring/tool-result.ts';
import type { FileEntry } from '../sandbox/engine.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';

/** Largest text file that tools read and write. */
export const MAX_TEXT_BYTES = 4 * 1024 * 1024;

/**
 * The text files of a sandbox for tools. Changes of one file wait for each other, so that none is lost. All tools of a
 * sandbox share it.
 */
export class TextFiles {
  readonly #sandbox: Sandbox;
  readonly #turns = new Map<string, Promise<unknown>>();

  private constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  static of(sandbox: Sandbox): TextFiles {
    const known = filesOf.get(sandbox) ?? new TextFiles(sandbox);
    filesOf.set(sandbox, known);
    return known;
  }

  /** The absolute path of a path that an agent gave. @throws ToolError for a NUL character. */
  resolve(path: string): string {
    if (path.includes('\0')) throw new ToolError('The path has a NUL character, which no file name can have.');
    return posix.resolve(this.#sandbox.workdir, path);
  }

  /** The absolute path. @throws ToolError for a path outside of the working folder. */
  confined(path: string): string {
    const full = this.resolve(path);
    const below = posix.relative(this.#sandbox.workdir, full);
    if (below === '..' || below.startsWith('../')) {
      throw new ToolError(`${path} is outside of the working folder ${this.#sandbox.workdir}`);
    }
    return full;
  }

  stat(path: string, signal: AbortSignal): Promise<FileEntry | undefined> {
    return inWords(this.#sandbox.files.stat(this.resolve(path), { signal }));
  }

  list(path: string, signal: AbortSignal): Promise<readonly FileEntry[]> {
    return inWords(this.#sandbox.files.list(this.resolve(path), { signal }));
  }

  /** Bytes of a file. @throws ToolError for what is no file, and for a file that is too large. */
  async readBytes(path: string, signal: AbortSignal, maxBytes = MAX_TEXT_BYTES): Promise<Uint8Array> {
    const entry = await this.stat(path, signal);
    if (entry !== undefined) refuseOther(path, entry);
    if (entry !== undefined && entry.size > maxBytes) {
      throw new ToolError(
        `${path} has ${entry.size} bytes; at most ${maxBytes} can be read. Use a shell to read a part.`,
      );
    }
    return await inWords(this.#sandbox.files.read(this.resolve(path), { maxBytes, signal }));
  }

  /** @throws ToolError for a file that is no text, and for one that is too large. */
  async read(path: string, signal: AbortSignal): Promise<string> {
    const text = toText(await this.readBytes(path, signal));
    if (text !== undefined) return text;
    throw new ToolError(
      `${path} is no text file (it is not UTF-8, or has NUL bytes), so it cannot be shown or edited here.`,
    );
  }

  /** Writes a text. Without a mode, a file that exists keeps its own. @throws ToolError for what is no file. */
  async write(path: string, text: string, signal: AbortSignal, mode?: number): Promise<void> {
    if (Buffer.byteLength(text) > MAX_TEXT_BYTES) {
      throw new ToolError(
        `The text for ${path} has more than ${MAX_TEXT_BYTES} bytes. Use a shell to write it in parts.`,
      );
    }
    const entry = await this.stat(path, signal);
    if (entry !== undefined) refuseOther(path, entry);
    await inWords(this.#sandbox.files.write(this.resolve(path), text, { signal, ...(mode !== undefined && { mode }) }));
  }

  async remove(path: string, signal: AbortSignal): Promise<void> {
    await inWords(this.#sandbox.files.remove(this.resolve(path), { signal }));
  }

  /** Runs work on some files after all work on them that came before. */
  async inTurn<T>(paths: readonly string[], work: () => Promise<T>): Promise<T> {
    const keys = [...new Set(paths.map((path) => this.resolve(path)))];
    const before = keys.map((key) => this.#turns.get(key));
    const turn = Promise.all(before).then(work);
    const ended = turn.then(
      () => undefined,
      () => undefined,
    );
    for (const key of keys) this.#turns.set(key, ended);
    try {
      return await turn;
    } finally {
      for (const key of keys) if (this.#turns.get(key) === ended) this.#turns.delete(key);
    }
  }
}

const filesOf = new WeakMap<Sandbox, TextFiles>();

/** The text of bytes; undefined if they are no UTF-8 or have NUL bytes. */
export function toText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** A link may lead anywhere, and a device or a pipe has no end. */
function refuseOther(path: string, { type }: FileEntry): void {
  if (type === 'link') throw new ToolError(`${path} is a link, which is not followed. Use the path that it leads to.`);
  if (type === 'folder') throw new ToolError(`${path} is a directory.`);
  if (type === 'other') throw new ToolError(`${path} is no regular file.`);
}

/** Tells the agent of a path that a sandbox refuses. A failure of the engine stays what it is. */
async function inWords<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof RangeError) throw new ToolError(`${error.message}.`, { cause: error });
    throw error;
  }
}
