import { posix } from 'node:path';
import { ToolError } from '../authoring/tool-result.ts';
import type { FileEntry } from '../sandbox/engine.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';

/** Largest text file that tools read and write. */
export const MAX_TEXT_BYTES = 4 * 1024 * 1024;

/** A text file of a sandbox, as edits need it. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

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

  stat(path: string, signal: AbortSignal): Promise<FileEntry | undefined> {
    return this.#sandbox.files.stat(this.resolve(path), { signal });
  }

  list(path: string, signal: AbortSignal): Promise<readonly FileEntry[]> {
    return this.#sandbox.files.list(this.resolve(path), { signal });
  }

  /** @throws ToolError for a file that is no text, and for one that is too large. */
  async read(path: string, signal: AbortSignal): Promise<string> {
    const entry = await this.stat(path, signal);
    if (entry !== undefined && entry.size > MAX_TEXT_BYTES) {
      throw new ToolError(
        `${path} has ${entry.size} bytes; at most ${MAX_TEXT_BYTES} can be read. Use a shell to read a part.`,
      );
    }
    const bytes = await this.#sandbox.files.read(this.resolve(path), { maxBytes: MAX_TEXT_BYTES, signal });
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
      if (!text.includes('\0')) return text;
    } catch {
      // Not UTF-8: the error below says it.
    }
    throw new ToolError(
      `${path} is no text file (it is not UTF-8, or has NUL bytes), so it cannot be shown or edited here.`,
    );
  }

  /** Writes a text. A file that exists keeps its mode. */
  async write(path: string, text: string, signal: AbortSignal): Promise<void> {
    await this.#sandbox.files.write(this.resolve(path), text, { signal });
  }

  async remove(path: string, signal: AbortSignal): Promise<void> {
    await this.#sandbox.files.remove(this.resolve(path), { signal });
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
