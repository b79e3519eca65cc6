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

/** Limits of all files together. The oldest files are deleted first. */
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_FILES = 500;

/**
 * A folder of files that can be made again at any time. Code from it is executed, so the folder and each file must
 * belong to this user, without write access for others; anything else is ignored. Processes share it without locks,
 * because files are written atomically and a file's name identifies its content.
 */
export class CacheFolder {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** @returns undefined if it cannot be made, or if others can write to it. */
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

  /** @returns undefined if the file does not exist, or if others can write to it. */
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

  /** @returns false if it could not be written. */
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

/**
 * True if only this user can write to it. Windows has no such owners and modes; there the folder has the rights of its
 * project.
 */
function isOwnAlone({ uid, mode }: Stats): boolean {
  const own = process.geteuid?.();
  return own === undefined || (uid === own && (mode & 0o022) === 0);
}
