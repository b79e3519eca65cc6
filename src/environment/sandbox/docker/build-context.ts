import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineError } from '../engine.ts';
import { type TarInput, writeTar } from '../files/tar.ts';

/** Entries of a folder that is built. More is a mistake, such as a whole home folder. */
const MAX_ENTRIES = 50_000;

/** The files of a build as an archive. One file is in memory at a time. */
export async function* buildContext(folder: string): AsyncGenerator<Uint8Array, void, undefined> {
  const root = await lstat(folder).catch(() => undefined);
  if (root?.isDirectory() !== true) {
    throw new EngineError(
      'image',
      `The folder of the image, ${folder}, does not exist: give the folder of a Dockerfile`,
    );
  }
  yield* writeTar(walk(folder));
}

async function* walk(root: string): AsyncGenerator<TarInput, void, undefined> {
  let count = 0;
  const folders = [''];
  for (const folder of folders) {
    const entries = await readdir(join(root, folder), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      count += 1;
      if (count > MAX_ENTRIES)
        throw new EngineError('image', `The folder ${root} has more than ${MAX_ENTRIES} entries`);
      const name = join(folder, entry.name);
      const path = join(root, name);
      const { mode } = await lstat(path);
      const owner = { name, mode, uid: 0, gid: 0 };
      if (entry.isDirectory()) {
        folders.push(name);
        yield { ...owner, type: 'folder' };
      } else if (entry.isSymbolicLink()) yield { ...owner, type: 'link', target: await readlink(path) };
      else if (entry.isFile()) yield { ...owner, type: 'file', content: await readFile(path) };
    }
  }
}
