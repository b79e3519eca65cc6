import { posix } from 'node:path';
import type { EngineSandbox, FileEntry } from '../engine.ts';
import type { SandboxFiles } from '../sandbox.ts';

/** Default of `maxBytes` of `read`. */
const READ_BYTES = 16 * 1024 ** 2;
/** Entries that a folder may have to be listed. */
const MAX_LISTED = 10_000;
const DEFAULT_MODE = 0o644;

type Signalled = { readonly signal?: AbortSignal } | undefined;

/** The files of a session's sandbox. */
export class SessionFiles implements SandboxFiles {
  readonly #sandbox: EngineSandbox;
  readonly #resolve: (path: string) => string;
  readonly #during: <T>(own: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;

  constructor(
    sandbox: EngineSandbox,
    resolve: (path: string) => string,
    during: <T>(own: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>) => Promise<T>,
  ) {
    this.#sandbox = sandbox;
    this.#resolve = resolve;
    this.#during = during;
  }

  async read(path: string, options: { readonly maxBytes?: number; readonly signal?: AbortSignal } = {}) {
    const { maxBytes = READ_BYTES } = options;
    const full = this.#resolve(path);
    return await this.#during(options.signal, async (signal): Promise<Uint8Array> => {
      const entry = await this.#sandbox.stat(full, signal);
      if (entry === undefined) throw new RangeError(`There is no file ${full}`);
      if (entry.type !== 'file')
        throw new RangeError(`${full} is no file but a ${entry.type}, and links are not followed`);
      if (entry.size > maxBytes) throw tooLarge(full, entry.size, maxBytes);
      const limits = { maxBytes, maxEntries: 1, maxDepth: 1 };
      for await (const { content } of this.#sandbox.get(full, limits, signal))
        if (content !== undefined) return content;
      throw new RangeError(`There is no file ${full}`);
    });
  }

  async write(
    path: string,
    content: string | Uint8Array,
    options: { readonly mode?: number; readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    const full = this.#resolve(path);
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    await this.#during(options.signal, async (signal) => {
      const mode = options.mode ?? (await this.#modeOf(full, signal)) ?? DEFAULT_MODE;
      const entry = { name: posix.basename(full), type: 'file', mode, content: bytes } as const;
      await this.#sandbox.put([entry], posix.dirname(full), signal);
    });
  }

  async list(path = '.', options?: Signalled): Promise<readonly FileEntry[]> {
    const full = this.#resolve(path);
    return await this.#during(options?.signal, (signal) => this.#sandbox.list(full, MAX_LISTED, signal));
  }

  async stat(path: string, options?: Signalled): Promise<FileEntry | undefined> {
    const full = this.#resolve(path);
    return await this.#during(options?.signal, (signal) => this.#sandbox.stat(full, signal));
  }

  async remove(path: string, options?: Signalled): Promise<void> {
    const full = this.#resolve(path);
    await this.#during(options?.signal, (signal) => this.#sandbox.remove(full, signal));
  }

  async #modeOf(path: string, signal: AbortSignal): Promise<number | undefined> {
    const entry = await this.#sandbox.stat(path, signal);
    return entry?.type === 'file' ? entry.mode : undefined;
  }
}

function tooLarge(path: string, size: number, maxBytes: number): RangeError {
  return new RangeError(`${path} has ${size} bytes, and ${maxBytes} are read at most: give a larger maxBytes`);
}
