import { posix } from 'node:path';
import { ToolError } from '../authoring/tool-result.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { type Located, locate } from './locate.ts';

/** Largest file that tools read or write as text. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;

/** A text of a file, with what `read` found around it. */
export interface TextFile {
  /** The real path. */
  readonly path: string;
  readonly text: string;
}

/** Changes that wait, by their real paths. All tools of a sandbox share them, so that none loses a change of another. */
const linesOf = new WeakMap<Sandbox, Map<string, Promise<unknown>>>();

/** Reads and writes text files of a sandbox with the rights of its user. Changes of one file stand in a line. */
export class TextFiles {
  readonly sandbox: Sandbox;
  /** Only paths that really lead below this folder. Undefined: every path. */
  readonly #root: string | undefined;
  readonly #maxBytes: number;
  readonly #lines: Map<string, Promise<unknown>>;

  constructor(sandbox: Sandbox, options: { readonly root?: string; readonly maxBytes?: number } = {}) {
    this.sandbox = sandbox;
    this.#lines = linesOf.get(sandbox) ?? new Map();
    linesOf.set(sandbox, this.#lines);
    this.#root = options.root;
    this.#maxBytes = options.maxBytes ?? MAX_TEXT_BYTES;
  }

  /** @throws ToolError for a path that leads out of the root. */
  async locate(path: string, signal: AbortSignal): Promise<Located> {
    const full = posix.resolve(this.sandbox.workdir, path);
    const found = await locate(this.sandbox, full, signal);
    if (this.#root === undefined) return found;
    const root = (await locate(this.sandbox, this.#root, signal)).path;
    const isInside = found.path === root || found.path.startsWith(root === '/' ? '/' : `${root}/`);
    if (!isInside) throw new ToolError(`The path ${path} leads out of ${this.#root}: only files below it can be used.`);
    return found;
  }

  /** @throws ToolError for what is no readable text. */
  async read(path: string, signal: AbortSignal): Promise<TextFile> {
    const found = await this.locate(path, signal);
    return { path: found.path, text: await this.readLocated(path, found, signal) };
  }

  async readLocated(path: string, found: Located, signal: AbortSignal): Promise<string> {
    if (found.type === 'missing') throw new ToolError(`The path ${path} does not exist. Please provide a valid path.`);
    if (found.type === 'folder') throw new ToolError(`The path ${path} is a directory.`);
    if (found.type === 'other') throw new ToolError(`The path ${path} is no ordinary file.`);
    if (!found.canRead) throw new ToolError(`The file ${path} cannot be read: permission denied.`);
    const entry = await this.sandbox.files.stat(found.path, { signal });
    if (entry !== undefined && entry.size > this.#maxBytes) {
      throw new ToolError(`The file ${path} has ${entry.size} bytes, and ${this.#maxBytes} are read at most.`);
    }
    return decoded(path, await this.sandbox.files.read(found.path, { maxBytes: this.#maxBytes, signal }));
  }

  /** Writes a file that `locate` found. Without a mode, a file that exists keeps its own. */
  async write(path: string, found: Located, text: string, signal: AbortSignal, mode?: number): Promise<void> {
    this.checkWritable(path, found);
    await this.sandbox.files.write(found.path, text, { signal, ...(mode !== undefined && { mode }) });
  }

  checkWritable(path: string, found: Located): void {
    if (found.type === 'folder') throw new ToolError(`The path ${path} is a directory.`);
    if (found.type === 'other') throw new ToolError(`The path ${path} is no ordinary file.`);
    if (!found.canWrite) throw new ToolError(`The file ${path} cannot be written: permission denied.`);
  }

  /** Runs work on real paths after all earlier work on one of them, so that no change is lost. */
  async inLine<T>(paths: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = paths.flatMap((path) => this.#lines.get(path) ?? []);
    const turn = Promise.all(before).then(work);
    const settled = turn.catch(() => {});
    for (const path of paths) this.#lines.set(path, settled);
    try {
      return await turn;
    } finally {
      for (const path of paths) if (this.#lines.get(path) === settled) this.#lines.delete(path);
    }
  }
}

function decoded(path: string, bytes: Uint8Array): string {
  const refusal = `The file ${path} is binary: only text can be read and edited.`;
  if (bytes.includes(0)) throw new ToolError(refusal);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ToolError(refusal);
  }
}
