import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** Together; the oldest files go first. */
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_FILES = 500;

/**
 * A folder of files that can be made again at any time. Code that is read from it is run, so that it belongs to the user
 * of this process alone, and so does each of its files: anything else is as good as absent. Processes share it without
 * locks, since a file appears as a whole and its name says what it holds.
 */
export class CacheFolder {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** @returns undefined where it cannot be made, or others could write to it. */
  static open(path: string): CacheFolder | undefined {
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      const found = lstatSync(path);
      return found.isDirectory() && isOwnAlone(found) ? new CacheFolder(path) : undefined;
    } catch {
      return undefined;
    }
  }

  pathOf(name: string): string {
    return join(this.#path, name);
  }

  /** @returns undefined for a file that is not there, or that others could have written. */
  read(name: string): Buffer | undefined {
    let file: number | undefined;
    try {
      file = openSync(this.pathOf(name), constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
      const found = fstatSync(file);
      return found.isFile() && isOwnAlone(found) ? readFileSync(file) : undefined;
    } catch {
      return undefined;
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  /** @returns false where it could not be written. */
  write(name: string, content: string | Buffer): boolean {
    const path = this.pathOf(name);
    const unfinished = `${path}.${randomBytes(6).toString('hex')}.new`;
    try {
      writeFileSync(unfinished, content, { mode: 0o600, flag: 'wx' });
      renameSync(unfinished, path);
      this.#prune(name);
      return true;
    } catch {
      rmSync(unfinished, { force: true });
      return false;
    }
  }

  #prune(kept: string): void {
    const files = readdirSync(this.#path).flatMap((name) => {
      const found = statSync(this.pathOf(name), { throwIfNoEntry: false });
      return found === undefined || name === kept ? [] : [{ name, bytes: found.size, mtimeMs: found.mtimeMs }];
    });
    let bytes = statSync(this.pathOf(kept)).size;
    for (const [index, file] of files.toSorted((a, b) => b.mtimeMs - a.mtimeMs).entries()) {
      bytes += file.bytes;
      if (bytes > MAX_BYTES || index + 1 >= MAX_FILES) rmSync(this.pathOf(file.name), { force: true });
    }
  }
}

/** Windows has no such owners and modes: there the folder has the rights of the project that it is in. */
function isOwnAlone({ uid, mode }: Stats): boolean {
  const own = process.geteuid?.();
  return own === undefined || (uid === own && (mode & 0o022) === 0);
}
