import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, extname, sep } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';

/** Milliseconds without further changes before a reload, so that saving several files causes one reload. */
const SETTLE_MS = 30;
/**
 * Extensions of code files. They count only after the environment has loaded them, because its folder also contains
 * tests.
 */
const CODE = new Set(['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.jsx']);

export interface WatchOptions {
  /** Folder of the environment. Every data file in it is watched. */
  readonly folder: string;
  /** Receives the absolute paths of files whose content has changed. */
  readonly onChange: (paths: readonly string[]) => void;
  readonly onError: (error: Error) => void;
}

/**
 * Watches the files of an environment: all code that it has loaded, and the data in its folder. Installed packages and
 * names that start with a dot are ignored. A save without a change is ignored too, unless the last version was broken.
 * The caller that makes a watch has to close it.
 */
export class SourceWatch {
  /**
   * True if the last version was broken. Then every save and any code in the folder count, because a missing file may
   * fix it.
   */
  isBroken = false;
  readonly #options: WatchOptions;
  readonly #watcher: FSWatcher;
  readonly #ready: Promise<void>;
  readonly #loaded = new Set<string>();
  readonly #hashes = new Map<string, string>();
  readonly #changed = new Set<string>();
  /** Files that are new. Temporary files of an editor come and go within one save. */
  readonly #new = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#watcher = watch(options.folder, {
      ignoreInitial: true,
      // Milliseconds to wait for editors that save by deleting and writing again. Half the usual value, so that reloads
      // are fast.
      atomic: 50,
      ignored: (path) => path !== options.folder && isForeign(path, options.folder),
    });
    this.#watcher.on('all', (event, path) => {
      if (event === 'add' && !this.#hashes.has(path)) this.#new.add(path);
      if (event === 'add' || event === 'change' || event === 'unlink') this.#onEvent(path);
    });
    this.#watcher.on('error', (error) => options.onError(error as Error));
    this.#ready = new Promise((resolve) => {
      this.#watcher.once('ready', resolve);
    });
  }

  /** Resolves when the watcher notices changes. */
  get ready(): Promise<void> {
    return this.#ready;
  }

  /** Adds files that the environment has loaded. */
  async add(paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      if (this.#loaded.has(path)) continue;
      this.#loaded.add(path);
      if (!this.#isInFolder(path)) this.#watcher.add(path);
      this.#hashes.set(path, await hashOf(path));
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#watcher.close();
  }

  #onEvent(path: string): void {
    const isCode = CODE.has(extname(path));
    if (isCode && !this.#loaded.has(path) && !this.isBroken) return;
    this.#changed.add(path);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#settle(), SETTLE_MS);
  }

  async #settle(): Promise<void> {
    const paths = [...this.#changed];
    this.#changed.clear();
    const hashes = await Promise.all(paths.map(hashOf));
    const isPassing = (path: string, index: number) => this.#new.has(path) && hashes[index] === GONE;
    const different = paths.filter(
      (path, index) => this.#hashes.get(path) !== hashes[index] && !isPassing(path, index),
    );
    this.#new.clear();
    for (const [index, path] of paths.entries()) this.#hashes.set(path, hashes[index] ?? '');
    const counted = this.isBroken ? paths : different;
    if (counted.length > 0) this.#options.onChange(counted);
  }

  #isInFolder(path: string): boolean {
    return path.startsWith(this.#options.folder + sep) && !isForeign(path, this.#options.folder);
  }
}

function isForeign(path: string, folder: string): boolean {
  const inside = path.startsWith(folder + sep) ? path.slice(folder.length + 1) : basename(path);
  return inside.split(sep).some((part) => part === 'node_modules' || part.startsWith('.') || part.endsWith('~'));
}

const GONE = 'gone';

/** A hash of the content. A missing file has a fixed value. */
async function hashOf(path: string): Promise<string> {
  try {
    return createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
  } catch {
    return GONE;
  }
}
