import { lstat } from 'node:fs/promises';
import { ToolError } from 'proctor';
import { giveToUser } from '../sandbox/unprivileged-user.ts';
import { linkRefusal, type OpenFolder, toNames, withFolder, withFolderOf } from './open-within.ts';
import { searchTexts } from './search-texts.ts';
import { checkRegular, checkTextSize, MAX_FILE_BYTES, readText } from './text-file.ts';
import { walk } from './walk.ts';

const MAX_SHOWN_BYTES = 64 * 1024;
const MAX_LISTED = 1_000;
const MAX_SEARCHED_FILES = 2_000;
const MAX_SEARCHED_CHARACTERS = 16 * 1024 * 1024;

export interface SearchQuery {
  readonly pattern: string;
  readonly isRegex: boolean;
  readonly path: string;
}

/**
 * The files of a work directory, for an agent. Whatever commands make of the directory meanwhile, nothing outside of it is
 * read or written: each folder of a path is opened in the one before, and no link is followed.
 *
 * @throws ToolError, every method, with words for the agent.
 */
export class WorkFiles {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Lines `fromLine` to `fromLine + maxLines - 1`, the first being 1, and a last line that says what was left out, if anything. */
  async read(path: string, fromLine: number, maxLines: number): Promise<string> {
    const text = await this.#readWhole(path);
    const lines = text.split('\n');
    const count = text.endsWith('\n') ? lines.length - 1 : lines.length;
    if (fromLine > Math.max(count, 1)) throw new ToolError(`${JSON.stringify(path)} has only ${count} lines.`);
    const wanted = lines.slice(fromLine - 1, Math.min(fromLine - 1 + maxLines, count));
    const shown = takeWithin(wanted);
    if (shown === wanted && wanted.length === count) return text;
    return `${shown.join('\n')}\n[lines ${fromLine} to ${fromLine + shown.length - 1} of ${count}]`;
  }

  /** Makes the file, and the folders that it needs, or replaces what is in it. */
  async write(path: string, text: string): Promise<string> {
    checkTextSize(text);
    await withFolderOf(this.#root, path, true, async (folder, name) => this.#write(folder, name, path, text, 'create'));
    return `Wrote ${Buffer.byteLength(text)} bytes to ${path}.`;
  }

  /** Replaces the one place where the old text is. */
  async edit(path: string, oldText: string, newText: string): Promise<string> {
    const text = await this.#readWhole(path);
    const at = text.indexOf(oldText);
    if (at === -1) throw new ToolError(`The old text is not in ${JSON.stringify(path)}. It has to match exactly.`);
    if (text.includes(oldText, at + 1)) {
      throw new ToolError(`The old text is in ${JSON.stringify(path)} more than once. Give more of what is around it.`);
    }
    const edited = text.slice(0, at) + newText + text.slice(at + oldText.length);
    checkTextSize(edited);
    await withFolderOf(this.#root, path, false, (folder, name) => this.#write(folder, name, path, edited, 'write'));
    return `Edited ${path} at line ${text.slice(0, at).split('\n').length}.`;
  }

  /** One line for each entry below the folder. */
  async list(path: string): Promise<string> {
    const names = toNames(path);
    const lines: string[] = [];
    await withFolder(this.#root, names, false, async (root) => {
      for await (const { path: at, name, kind, folder } of walk(root, names.join('/'))) {
        if (lines.length === MAX_LISTED) {
          lines.push(`[more than ${MAX_LISTED} entries: list a folder below]`);
          break;
        }
        if (kind === 'file') lines.push(`${at} (${await sizeOf(folder, name)} bytes)`);
        else
          lines.push(kind === 'folder' ? `${at}/` : kind === 'link' ? `${at} (symbolic link)` : `${at} (special file)`);
      }
    });
    return lines.length === 0 ? 'The folder is empty.' : lines.join('\n');
  }

  /** `path:line: text` of each line that has the pattern. */
  async search({ pattern, isRegex, path }: SearchQuery, signal: AbortSignal): Promise<string> {
    const names = toNames(path);
    const texts: { path: string; text: string }[] = [];
    let characters = 0;
    let isCut = false;
    await withFolder(this.#root, names, false, async (root) => {
      for await (const { path: at, name, kind, folder } of walk(root, names.join('/'))) {
        signal.throwIfAborted();
        if (kind !== 'file') continue;
        isCut = texts.length === MAX_SEARCHED_FILES || characters > MAX_SEARCHED_CHARACTERS;
        if (isCut) break;
        const text = await readSearchable(folder, name, at);
        if (text === undefined) continue;
        texts.push({ path: at, text });
        characters += text.length;
      }
    });
    const found = await searchTexts({ pattern, isRegex, texts }, signal);
    return isCut ? `${found}\n[not everything was searched: search a folder below]` : found;
  }

  async #write(folder: OpenFolder, name: string, path: string, text: string, purpose: 'write' | 'create') {
    const file = await openFile(folder, name, path, purpose);
    try {
      await checkRegular(file, path);
      await giveToUser(file);
      await file.truncate(0);
      await file.writeFile(text);
    } finally {
      await file.close();
    }
  }

  #readWhole(path: string): Promise<string> {
    return withFolderOf(this.#root, path, false, async (folder, name) => {
      const file = await openFile(folder, name, path, 'read');
      try {
        return await readText(file, path);
      } finally {
        await file.close();
      }
    });
  }
}

async function openFile(folder: OpenFolder, name: string, path: string, purpose: 'read' | 'write' | 'create') {
  try {
    return await folder.openFile(name, purpose);
  } catch (error) {
    if (await folder.isLink(name)) throw linkRefusal(path);
    throw error;
  }
}

/** Undefined for what a search passes over: large, binary and special files, and what cannot be opened. */
async function readSearchable(folder: OpenFolder, name: string, path: string): Promise<string | undefined> {
  try {
    const file = await folder.openFile(name, 'read');
    try {
      return await readText(file, path);
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

async function sizeOf(folder: OpenFolder, name: string): Promise<number> {
  try {
    return (await lstat(folder.pathOf(name))).size;
  } catch {
    return 0;
  }
}

/** As many of the lines as may be shown at once, at least one. */
function takeWithin(lines: readonly string[]): readonly string[] {
  let bytes = 0;
  const end = lines.findIndex((line) => {
    bytes += Buffer.byteLength(line) + 1;
    return bytes > MAX_SHOWN_BYTES;
  });
  if (end === -1) return lines;
  return end > 0 ? lines.slice(0, end) : [`${lines[0]?.slice(0, MAX_SHOWN_BYTES)} [the line goes on]`];
}

/** For the descriptions of tools. */
export const FILE_LIMITS = { fileBytes: MAX_FILE_BYTES, shownBytes: MAX_SHOWN_BYTES, listed: MAX_LISTED } as const;
