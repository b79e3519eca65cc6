import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, lstat, mkdir, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../../contract/errors.ts';
import { newId } from '../../../support/runtime/new-id.ts';
import { EngineError, type SandboxLabels } from '../engine.ts';
import type { Owner } from '../files/open-folder.ts';
import { codeOf } from '../files/open-folder.ts';

const OWNER_ONLY = 0o700;
const RECORD = 'sandbox.json';
const FROZEN = 'frozen';
const ID = /^[0-9a-f]{32}$/;

/** Folders that a sandbox can write. */
export const PARTS = ['work', 'tmp', 'home'] as const;
export type Part = (typeof PARTS)[number];

/** The note in the folder of a sandbox, by which another process finds and removes it. */
export interface FolderRecord {
  readonly id: string;
  readonly engine: string;
  readonly labels: SandboxLabels;
  readonly createdAt: string;
  /** The process that holds the sandbox. */
  readonly pid: number;
  readonly startedAt: string;
  /** Mark that all processes of the sandbox have in a variable, on an engine without namespaces. */
  readonly mark?: string | undefined;
}

/** The folder of one sandbox. Only its user may enter it. */
export class SessionFolder {
  readonly id: string;
  readonly path: string;

  private constructor(id: string, path: string) {
    this.id = id;
    this.path = path;
  }

  /** @param from a frozen folder, whose files are copied. */
  static async create(engine: string, owner: Owner | undefined, from: string | undefined): Promise<SessionFolder> {
    const id = newId();
    const folder = new SessionFolder(id, await pathOf(engine, id));
    try {
      await mkdir(folder.path, { mode: OWNER_ONLY });
      for (const name of [...PARTS, 'etc', 'run']) {
        const path = join(folder.path, name);
        if (from !== undefined && isPart(name)) await copyTree(join(from, name), path);
        else await mkdir(path, { mode: OWNER_ONLY });
        // A frozen folder may have been closed by its programs.
        await chmod(path, name === 'tmp' ? 0o1777 : OWNER_ONLY);
        if (owner !== undefined) await chown(path, owner.uid, owner.gid);
      }
      if (owner !== undefined) await chown(folder.path, owner.uid, owner.gid);
      return folder;
    } catch (error) {
      await removeTree(folder.path);
      throw toDiskError('The folder of a sandbox cannot be made', error);
    }
  }

  part(name: Part | 'etc' | 'run'): string {
    return join(this.path, name);
  }

  async record(record: FolderRecord): Promise<void> {
    await writeFile(join(this.path, RECORD), JSON.stringify(record), { mode: 0o600 });
  }

  /** Copies the writable folders beside the sandboxes. @returns the path of the copy. */
  async freeze(engine: string): Promise<string> {
    const path = await pathOf(`${engine}-${FROZEN}`, newId());
    try {
      await mkdir(path, { mode: OWNER_ONLY });
      for (const name of PARTS) await copyTree(this.part(name), join(path, name));
      return path;
    } catch (error) {
      await removeTree(path);
      throw toDiskError('The files of the sandbox cannot be copied', error);
    }
  }

  async remove(): Promise<void> {
    await removeTree(this.path);
  }
}

/** Records of the sandboxes of an engine on this machine, of users that this process can trust. */
export async function readRecords(engine: string, owner: Owner | undefined): Promise<readonly FolderRecord[]> {
  const root = await realpath(tmpdir());
  const prefix = `${prefixOf(engine)}`;
  const names = (await readdir(root)).filter((name) => name.startsWith(prefix) && ID.test(name.slice(prefix.length)));
  const found = await Promise.all(names.map((name) => readRecord(join(root, name), owner)));
  return found.filter((record) => record !== undefined);
}

async function readRecord(path: string, owner: Owner | undefined): Promise<FolderRecord | undefined> {
  try {
    const { uid } = await lstat(path);
    if (uid !== (owner?.uid ?? process.getuid?.())) return undefined;
    return JSON.parse(await readFile(join(path, RECORD), 'utf8')) as FolderRecord;
  } catch {
    return undefined; // The sandbox is being made or removed.
  }
}

/** Removes the folder of a sandbox by its id. It does nothing for an unknown id. */
export async function removeFolderOf(engine: string, id: string): Promise<void> {
  if (ID.test(id)) await removeTree(await pathOf(engine, id));
}

/** Removes a folder with all that is in it. Nothing may write in it any more. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch {
    // Folders that their owner may not enter, or nested deeper than the longest path: these programs go step by step.
    const child = spawn('/bin/sh', ['-c', 'chmod -R u+rwX -- "$0"; rm -rf -- "$0"', path], {
      stdio: 'ignore',
      env: {},
    });
    await once(child, 'close');
  }
}

/** Copies a folder with modes, owners, times and links, which are not followed. */
async function copyTree(from: string, to: string): Promise<void> {
  const stdio = ['ignore', 'ignore', 'pipe'] as const;
  const child = spawn('cp', ['-a', '--', from, to], { stdio: [...stdio], env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } });
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(0, 1_000);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(said.trim() || `cp ended with ${code}`);
}

function toDiskError(what: string, error: unknown): EngineError {
  const isFull = codeOf(error) === 'ENOSPC' || /No space left/.test(messageOf(error));
  return new EngineError(isFull ? 'disk' : 'create', `${what}: ${messageOf(error)}`, { cause: error });
}

function isPart(name: string): name is Part {
  return (PARTS as readonly string[]).includes(name);
}

function prefixOf(engine: string): string {
  return `proctor-${engine}-`;
}

async function pathOf(engine: string, id: string): Promise<string> {
  return join(await realpath(tmpdir()), `${prefixOf(engine)}${id}`);
}
