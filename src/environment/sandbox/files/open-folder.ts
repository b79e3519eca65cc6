import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open } from 'node:fs/promises';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const MAX_PATH_LENGTH = 4_096;

/** User and group that get what is made. Undefined: the user of this process. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * An open folder. Entries are looked up in this very folder, even if its path leads elsewhere by now. Linux names an open
 * folder in `/proc`, so that an entry can be opened without the path. Elsewhere the path has to do.
 */
export class OpenFolder {
  readonly #handle: FileHandle;
  readonly #path: string;

  private constructor(handle: FileHandle, path: string) {
    this.#handle = handle;
    this.#path = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path;
  }

  static async openRoot(path: string): Promise<OpenFolder> {
    return new OpenFolder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path);
  }

  /** Path that reads the entries of this folder. */
  get path(): string {
    return this.#path;
  }

  pathOf(name: string): string {
    // Not joined, because `.` has to stay: without it the path would be a link.
    return `${this.#path}/${name}`;
  }

  /** Opens a folder in this one, never through a link. The caller closes both. */
  async openFolder(name: string): Promise<OpenFolder> {
    const path = this.pathOf(name);
    return new OpenFolder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path);
  }

  /** Opens a file for reading, never through a link, and without waiting if it is a pipe. */
  async openFile(name: string): Promise<FileHandle> {
    return await open(this.pathOf(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  }

  /** Makes a file that does not exist yet. */
  async createFile(name: string): Promise<FileHandle> {
    return await open(this.pathOf(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  }

  /** @returns false if there is an entry of that name. */
  async createFolder(name: string): Promise<boolean> {
    try {
      await mkdir(this.pathOf(name), { mode: 0o755 });
      return true;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      return false;
    }
  }

  async isLink(name: string): Promise<boolean> {
    try {
      return (await lstat(this.pathOf(name))).isSymbolicLink();
    } catch {
      return false;
    }
  }

  async give(owner: Owner | undefined, mode: number | undefined): Promise<void> {
    if (owner !== undefined) await this.#handle.chown(owner.uid, owner.gid);
    if (mode !== undefined) await this.#handle.chmod(mode);
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** The names of a relative path. @throws RangeError for a path that leads out of its folder, and for one that is no path. */
export function toNames(path: string): readonly string[] {
  if (path.length > MAX_PATH_LENGTH) throw new RangeError(`The path is longer than ${MAX_PATH_LENGTH} characters`);
  if (path.includes('\0')) throw new RangeError('A path cannot contain a NUL character');
  if (path.startsWith('/')) throw new RangeError(`${JSON.stringify(path)} is absolute: give a path inside the folder`);
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..'))
    throw new RangeError(`${JSON.stringify(path)} leads out of its folder by "..": leave it out`);
  return names;
}

/** How folders that are missing are made. */
export interface Making {
  readonly owner: Owner | undefined;
}

/**
 * Opens a folder below `root`, one name after another, and closes it after `use`.
 *
 * @param making makes the folders that are missing; undefined makes none.
 * @throws RangeError for a path that is missing, or goes through a link or a file.
 */
export async function withFolder<T>(
  root: string,
  names: readonly string[],
  making: Making | undefined,
  use: (folder: OpenFolder) => Promise<T>,
): Promise<T> {
  let folder = await OpenFolder.openRoot(root);
  try {
    for (const [index, name] of names.entries()) {
      const shown = names.slice(0, index + 1).join('/');
      const next = await openStep(folder, name, making).catch(async (error: unknown) => {
        throw await toPathError(folder, name, error, shown);
      });
      await folder.close();
      folder = next;
    }
    return await use(folder);
  } finally {
    await folder.close();
  }
}

async function openStep(folder: OpenFolder, name: string, making: Making | undefined): Promise<OpenFolder> {
  const isNew = making !== undefined && (await folder.createFolder(name));
  const opened = await folder.openFolder(name);
  if (isNew) await opened.give(making.owner, undefined);
  return opened;
}

/** The error of the system in words that name the path; errors without words stay as they are. */
export async function toPathError(folder: OpenFolder, name: string, error: unknown, shown: string): Promise<unknown> {
  const isLink = await folder.isLink(name);
  const words = isLink ? 'is a symbolic link, which is not followed' : REASONS[codeOf(error) ?? ''];
  return words === undefined ? error : new RangeError(`${JSON.stringify(shown)} ${words}`, { cause: error });
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a folder, or goes through something that is none',
  EISDIR: 'is a folder',
  ELOOP: 'is a symbolic link, which is not followed',
  ENXIO: 'is not a regular file',
  EACCES: 'may not be opened: its permissions forbid it',
  EPERM: 'may not be opened: its permissions forbid it',
  ENAMETOOLONG: 'has a name that is too long',
};

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
