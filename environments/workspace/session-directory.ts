import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, copyFile, lchown, mkdir, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unprivilegedUser } from './sandbox/unprivileged-user.ts';

const OWNER_ONLY = 0o700;

const DRIVER = fileURLToPath(new URL('./grading/drive.mjs', import.meta.url));

/** What a program that looks itself up finds inside the sandbox. */
const ETC_FILES = {
  passwd: 'agent:x:1000:1000::/tmp:/bin/sh\n',
  group: 'agent:x:1000:\n',
  hosts: '127.0.0.1 localhost workspace\n',
} as const;

/** The files of one session: a new directory of an unguessable name which its owner alone can enter. */
export class SessionDirectory {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  /** Whoever creates it removes it. */
  static async create(): Promise<SessionDirectory> {
    const root = join(await realpath(tmpdir()), `workspace-${randomUUID()}`);
    const directory = new SessionDirectory(root);
    await mkdir(root, { mode: OWNER_ONLY });
    await Promise.all([directory.work, directory.home, directory.etc].map((path) => mkdir(path, { mode: OWNER_ONLY })));
    for (const [name, text] of Object.entries(ETC_FILES)) await writeFile(join(directory.etc, name), text);
    // Whom commands run as may have no way to where this environment is installed.
    await copyFile(DRIVER, directory.driver);
    await giveTree(root);
    return directory;
  }

  /** The agent's work: all that it can reach. */
  get work(): string {
    return join(this.#root, 'work');
  }

  get home(): string {
    return join(this.#root, 'home');
  }

  /** The program that runs the inputs of a hidden test. */
  get driver(): string {
    return join(this.etc, 'drive.mjs');
  }

  get etc(): string {
    return join(this.#root, 'etc');
  }

  /** Writes the files that an agent begins with, which are trusted. */
  async fill(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [path, text] of Object.entries(files)) {
      const file = join(this.work, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
    await giveTree(this.work);
  }

  /** Takes back what an agent can do to the work directory itself: it must not be able to make its evaluation fail. */
  async reopen(): Promise<void> {
    await chmod(this.work, OWNER_ONLY);
  }

  /** Nothing of the agent's may run any more. */
  async remove(): Promise<void> {
    try {
      await rm(this.#root, { recursive: true, force: true });
    } catch {
      // Folders that their owner may not enter, or nested deeper than the longest path: these programs walk step by step.
      const script = 'chmod -R u+rwX -- "$0"; rm -rf -- "$0"';
      await once(spawn('/bin/sh', ['-c', script, this.#root], { stdio: 'ignore', env: {} }), 'close');
    }
  }
}

/** Gives a folder to whom commands run as, with all that is in it, which is trusted. */
async function giveTree(root: string): Promise<void> {
  const user = unprivilegedUser();
  if (user === undefined) return;
  const below = await readdir(root, { recursive: true });
  for (const path of ['', ...below]) await lchown(join(root, path), user.uid, user.gid);
}
