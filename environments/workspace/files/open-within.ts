import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { ToolError } from 'proctor';
import { giveToUser } from '../sandbox/unprivileged-user.ts';

const { O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const MAX_PATH_LENGTH = 1_024;

/**
 * An open folder of the work directory. What is opened in it is looked up in this very folder, whatever its path has been
 * made to name meanwhile: Linux names an open folder in /proc, which is how a file is opened beside it without a path.
 * Elsewhere there is no sandbox either, and a path has to do.
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

  /** Where the folder's entries can be read. */
  get path(): string {
    return this.#path;
  }

  pathOf(name: string): string {
    return join(this.#path, name);
  }

  /** Opens a folder in this one, never through a link. Both are closed by the caller. */
  async openFolder(name: string): Promise<OpenFolder> {
    const path = this.pathOf(name);
    return new OpenFolder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path);
  }

  /** Opens a file in this folder, never through a link, and without waiting where it is a pipe. */
  openFile(name: string, purpose: 'read' | 'write' | 'create'): Promise<FileHandle> {
    const access = purpose === 'read' ? O_RDONLY : O_WRONLY;
    return open(this.pathOf(name), access | (purpose === 'create' ? O_CREAT : 0) | O_NOFOLLOW | O_NONBLOCK, 0o644);
  }

  /** False where there is something of that name. */
  async createFolder(name: string): Promise<boolean> {
    try {
      await mkdir(this.pathOf(name));
      return true;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      return false;
    }
  }

  async chown(uid: number, gid: number): Promise<void> {
    await this.#handle.chown(uid, gid);
  }

  async isLink(name: string): Promise<boolean> {
    try {
      return (await lstat(this.pathOf(name))).isSymbolicLink();
    } catch {
      return false;
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/**
 * The names that a path is made of, from the work directory down; none for the directory itself.
 *
 * @throws ToolError for a path that leaves the directory.
 */
export function toNames(path: string): readonly string[] {
  if (path.length > MAX_PATH_LENGTH) throw new ToolError(`The path is longer than ${MAX_PATH_LENGTH} characters.`);
  if (path.includes('\0')) throw new ToolError('A path cannot contain a NUL character.');
  const shown = JSON.stringify(path);
  if (path.startsWith('/')) throw new ToolError(`${shown} is absolute: give a path relative to the work directory.`);
  const names = posix
    .normalize(path)
    .split('/')
    .filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw new ToolError(`${shown} leaves the work directory.`);
  return names;
}

/**
 * Opens the folder of a path below `root`, one name after another, and hands it to `use` with the last name.
 *
 * @param creates makes the folders that are missing.
 * @throws ToolError for a path that leaves the directory or goes through a link, and for what is not there.
 */
export async function withFolderOf<T>(
  root: string,
  path: string,
  creates: boolean,
  use: (folder: OpenFolder, name: string) => Promise<T>,
): Promise<T> {
  const names = toNames(path);
  const last = names.at(-1);
  if (last === undefined)
    throw new ToolError(`${JSON.stringify(path)} is the work directory itself: name a file in it.`);
  return withFolder(root, names.slice(0, -1), creates, (folder) => use(folder, last), path);
}

/** Opens a folder below `root`; see `withFolderOf`. */
export async function withFolder<T>(
  root: string,
  names: readonly string[],
  creates: boolean,
  use: (folder: OpenFolder) => Promise<T>,
  path = names.join('/'),
): Promise<T> {
  let folder = await OpenFolder.openRoot(root);
  try {
    for (const [index, name] of names.entries()) {
      const next = await openStep(folder, name, creates, names.slice(0, index + 1).join('/'));
      await folder.close();
      folder = next;
    }
    return await use(folder);
  } catch (error) {
    throw toToolError(error, path);
  } finally {
    await folder.close();
  }
}

async function openStep(folder: OpenFolder, name: string, creates: boolean, shown: string): Promise<OpenFolder> {
  try {
    const isNew = creates && (await folder.createFolder(name));
    const opened = await folder.openFolder(name);
    if (isNew) await giveToUser(opened);
    return opened;
  } catch (error) {
    if (await folder.isLink(name)) throw linkRefusal(shown);
    throw toToolError(error, shown);
  }
}

export function linkRefusal(path: string): ToolError {
  return new ToolError(`${JSON.stringify(path)} is a symbolic link, which file tools do not follow.`);
}

/** What the system says about a path, in words that name the path as the agent gave it. */
function toToolError(error: unknown, path: string): unknown {
  const code = codeOf(error);
  const words = code === undefined ? undefined : REASONS[code];
  return words === undefined ? error : new ToolError(`${JSON.stringify(path)} ${words}.`);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a folder, or goes through something that is none',
  EISDIR: 'is a folder',
  ELOOP: 'is a symbolic link, which file tools do not follow',
  ENXIO: 'is not a regular file',
  EACCES: 'may not be opened: its permissions forbid it',
  EPERM: 'may not be opened: its permissions forbid it',
  ENAMETOOLONG: 'has a name that is too long',
  ENOSPC: 'cannot be written: the disk is full',
};

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
