import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import type { EngineSandbox, FileChanges, FileContent } from '../engine.ts';

/** Files that are compared at one time. */
const COMPARED_AT_ONCE = 8;

/**
 * The files with which a sandbox began. An engine counts changes since its creation, so these files would all count as
 * added.
 */
export class InitialFiles {
  /** SHA-256 of each file, by absolute path. Folders and links have none. */
  readonly #hashes = new Map<string, string | undefined>();

  /** Notes entries on their way into a folder of the sandbox. */
  async *note(
    entries: AsyncIterable<FileContent> | Iterable<FileContent>,
    folder: string,
  ): AsyncGenerator<FileContent> {
    // The engine makes the folders above the files.
    for (let path = folder; path.length > 1; path = posix.dirname(path)) this.#hashes.set(path, undefined);
    for await (const entry of entries) {
      const { name, content } = entry;
      this.#hashes.set(name === '.' ? folder : `${folder}/${name}`, content && hashOf(content));
      yield entry;
    }
  }

  /** Changes since these files were there, in absolute paths. */
  async compare(changes: FileChanges, sandbox: EngineSandbox, signal: AbortSignal): Promise<FileChanges> {
    if (this.#hashes.size === 0) return changes;
    const found = new Map<string, 'same' | 'changed' | 'removed'>();
    const waiting = [...this.#hashes.keys()];
    const next = async () => {
      for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
        found.set(path, await this.#look(path, sandbox, signal));
      }
    };
    await Promise.all(Array.from({ length: COMPARED_AT_ONCE }, next));
    const isNew = (path: string) => !found.has(path);
    const those = (kind: 'changed' | 'removed') =>
      [...found].flatMap(([path, state]) => (state === kind ? [path] : []));
    return {
      added: changes.added.filter(isNew),
      changed: [...changes.changed.filter(isNew), ...those('changed')].sort(),
      removed: [...changes.removed.filter(isNew), ...those('removed')].sort(),
    };
  }

  async #look(path: string, sandbox: EngineSandbox, signal: AbortSignal): Promise<'same' | 'changed' | 'removed'> {
    const entry = await sandbox.stat(path, signal);
    if (entry === undefined) return 'removed';
    const hash = this.#hashes.get(path);
    if (hash === undefined) return 'same';
    if (entry.type !== 'file') return 'changed';
    const limits = { maxBytes: Math.max(1, entry.size), maxEntries: 1, maxDepth: 1 };
    for await (const { content } of sandbox.get(path, limits, signal)) {
      return content !== undefined && hashOf(content) === hash ? 'same' : 'changed';
    }
    return 'changed';
  }
}

function hashOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
