import { randomBytes } from 'node:crypto';
import { endsWithin } from '../../support/runtime/deadline.ts';
import { ToolError } from '../authoring/tool-result.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { MarkerSplitter } from './marker-splitter.ts';

export interface WalkEntry {
  /** Relative to the folder. */
  readonly path: string;
  readonly type: 'file' | 'folder' | 'link';
}

export interface WalkOptions {
  /** Levels of folders. Default: 32. */
  readonly depth?: number;
  /** Gets the content of each file, cut behind `maxFileBytes`. The walk waits for nothing. */
  onContent?(path: string, content: Buffer): void;
  readonly signal: AbortSignal;
}

const WALK_MS = 60_000;
const MAX_ENTRIES = 50_000;
const MAX_DEPTH = 32;
/** Bytes of one file that a walk keeps. */
export const MAX_FILE_BYTES = 1024 * 1024;
const MAX_NAME_BYTES = 64 * 1024;

/**
 * Walks with the shell's own words, so that no program of the image is needed to list, and `cat` alone to read. Links
 * are named and not followed; `.git` and `node_modules` are named and not entered.
 */
const SCRIPT = `
walk() {
  for f in "$1"* "$1".[!.]* "$1"..?*; do
    if [ -L "$f" ]; then printf '\\036%s\\nl%s\\0' "$m" "$f"
    elif [ -d "$f" ]; then
      printf '\\036%s\\nd%s\\0' "$m" "$f"
      case \${f##*/} in .git | node_modules) continue ;; esac
      [ "$2" -gt 1 ] && walk "$f/" $(($2-1))
    elif [ -f "$f" ]; then
      printf '\\036%s\\nf%s\\0' "$m" "$f"
      [ -n "$c" ] && cat -- "./$f" 2>/dev/null
    fi
  done
}
cd -- "$1" || exit 1
m=$2 c=$4
walk '' "$3"
printf '\\036%s\\n' "$m"
`;

/** All that is below a folder, in the order of the paths. @throws ToolError for a folder that cannot be entered. */
export async function walk(
  sandbox: Sandbox,
  folder: string,
  options: WalkOptions,
): Promise<{ readonly entries: readonly WalkEntry[]; readonly isCut: boolean }> {
  const nonce = randomBytes(16).toString('hex');
  const depth = String(Math.min(options.depth ?? MAX_DEPTH, MAX_DEPTH));
  const reads = options.onContent === undefined ? '' : 'c';
  const child = await sandbox.spawn(['sh', '-c', SCRIPT, 'sh', folder, nonce, depth, reads], {
    signal: options.signal,
  });
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {});
  child.stdin.end();
  child.stderr.resume();
  const entries: WalkEntry[] = [];
  const sections = new Sections((head, content) => {
    if (entries.length >= MAX_ENTRIES) return void child.kill().catch(() => {}); // The end tells of a lost engine.
    const type = head[0] === 'd' ? 'folder' : head[0] === 'l' ? 'link' : 'file';
    const path = head.slice(1);
    entries.push({ path, type });
    if (type === 'file') options.onContent?.(path, content);
  });
  const splitter = new MarkerSplitter(
    `\u001e${nonce}\n`,
    (bytes) => sections.write(bytes),
    () => sections.next(),
  );
  child.stdout.on('data', (chunk: Buffer) => splitter.write(chunk));
  let isCut = false;
  try {
    isCut = !(await endsWithin(child.exited, WALK_MS, options.signal));
  } finally {
    await child.kill().catch(() => {});
  }
  const exit = isCut ? undefined : await child.exited;
  if (exit?.exitCode === 1 && entries.length === 0) throw new ToolError(`The directory ${folder} cannot be entered.`);
  entries.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  return { entries, isCut: isCut || entries.length >= MAX_ENTRIES };
}

/** Collects what is between two markers: a name that ends with NUL, then content. */
class Sections {
  readonly #onSection: (head: string, content: Buffer) => void;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(onSection: (head: string, content: Buffer) => void) {
    this.#onSection = onSection;
  }

  write(bytes: Buffer): void {
    const room = MAX_FILE_BYTES + MAX_NAME_BYTES + 1 - this.#length;
    if (room <= 0) return;
    this.#parts.push(Buffer.from(bytes.subarray(0, room)));
    this.#length += Math.min(room, bytes.length);
  }

  next(): void {
    const all = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#length = 0;
    const end = all.indexOf(0);
    if (end > 0) this.#onSection(all.toString('utf8', 0, end), all.subarray(end + 1));
  }
}
