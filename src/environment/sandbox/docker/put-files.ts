import { posix } from 'node:path';
import type { FileContent } from '../engine.ts';
import { type TarInput, writeTar } from '../files/tar.ts';
import { WORK_LIMIT_MS } from './api.ts';
import { type PathStat, statPath } from './container-files.ts';
import type { Container } from './exec.ts';

/** Folders of a copy that are looked at together. */
const STATS_AT_ONCE = 8;

/** Writes entries below a folder. Each folder on the way is looked at first, so that no link is followed. */
export async function putFiles(
  container: Container,
  entries: AsyncIterable<FileContent> | Iterable<FileContent>,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const { owner } = container;
  const all: FileContent[] = [];
  for await (const entry of entries) all.push(entry);
  const parts = [...ancestors(folder), folder === '/' ? [] : [folder]].flat();
  const inside = new Set<string>();
  for (const { name, type } of all) {
    const path = checkedName(name);
    const chain = ancestors(posix.join(folder, path)).filter((parent) => parent.length > folder.length);
    for (const parent of chain) inside.add(parent);
    if (type === 'folder' && path !== '.') inside.add(posix.join(folder, path));
  }
  const folders = [...new Set([...parts, ...inside])].sort((a, b) => a.split('/').length - b.split('/').length);
  const known = await statFolders(container, folders, signal);
  const toMake: TarInput[] = [];
  for (const [at, path] of folders.entries()) {
    const found = known[at];
    if (found !== undefined && found.type !== 'folder') {
      throw new RangeError(`${path} of the sandbox is a ${found.type} and no folder, and links are not followed`);
    }

    if (found === undefined) toMake.push({ name: path.slice(1), type: 'folder', mode: 0o755, ...owner });
  }
  const files = all
    .filter(
      ({ name, type }) =>
        !(type === 'folder' && (name === '.' || known[folders.indexOf(posix.join(folder, name))] !== undefined)),
    )
    .map((entry) => ({
      name: posix.join(folder, entry.name).slice(1),
      type: entry.type,
      mode: entry.mode,
      uid: entry.uid ?? owner.uid,
      gid: entry.gid ?? owner.gid,
      content: entry.content,
      target: entry.target,
    }));
  const made = new Set(files.map(({ name }) => name));
  await sendArchive(container, [...toMake.filter(({ name }) => !made.has(name)), ...files], signal);
}

/** Looks at folders from the top down, and not at what is below a folder that does not exist. */
async function statFolders(container: Container, folders: readonly string[], signal: AbortSignal) {
  const found = new Map<string, PathStat | undefined>();
  const missing = (path: string) => path !== '/' && found.has(path) && found.get(path) === undefined;
  for (let at = 0; at < folders.length; ) {
    const depth = folders[at]?.split('/').length;
    const level = folders.slice(at, at + STATS_AT_ONCE).filter((path) => path.split('/').length === depth);
    const stats = level.map(async (path) =>
      missing(posix.dirname(path)) ? undefined : statPath(container, path, signal),
    );
    for (const [index, stat] of (await Promise.all(stats)).entries()) found.set(level[index] ?? '', stat);
    at += level.length;
  }
  return folders.map((path) => found.get(path));
}

/** Unpacks an archive at the root of the container. */
export async function sendArchive(
  { api, id }: Container,
  inputs: readonly TarInput[],
  signal: AbortSignal,
): Promise<void> {
  const call = {
    method: 'PUT',
    path: `/containers/${id}/archive`,
    query: { path: '/', noOverwriteDirNonDir: 1 },
    archive: writeTar(inputs),
    limitMs: WORK_LIMIT_MS,
  } as const;
  await api.text(call, signal);
}

/** The folders above a path, from the top down, without the root. */
function ancestors(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '');
  return parts.slice(0, -1).map((_, at) => `/${parts.slice(0, at + 1).join('/')}`);
}

function checkedName(name: string): string {
  const isWrong = name === '' || name.startsWith('/') || name.includes('\0') || name.split('/').includes('..');
  if (isWrong) throw new RangeError(`The name ${JSON.stringify(name)} leads out of the folder`);
  return name;
}
