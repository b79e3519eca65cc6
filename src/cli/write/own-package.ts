import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { messageOf } from '../../contract/errors.ts';

/** Folder of the package of this file, in a checkout or an installation. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const PACK_LIMIT_MS = 120_000;

/** A packed file in a temporary folder. Disposing deletes it. */
export interface OwnPackage extends Disposable {
  readonly path: string;
}

/**
 * Packs the running package like `npm pack`. A new project installs the file, so that npm does not take another
 * package of the same name from a registry.
 *
 * @throws Error with a way out if npm cannot pack it.
 */
export async function packOwnPackage(signal: AbortSignal): Promise<OwnPackage> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'proctor-pack-')));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    if (!existsSync(join(ROOT, 'dist'))) throw new Error(`${ROOT} has no folder dist: "npm run build" makes it`);
    const args = ['pack', ROOT, '--ignore-scripts', '--no-workspaces', '--pack-destination', folder];
    // npm runs in the temporary folder, so that it ignores settings and workspaces of the current project.
    const options = { cwd: folder, timeout: PACK_LIMIT_MS, killSignal: 'SIGKILL', signal } as const;
    await promisify(execFile)('npm', args, options);
    const [name] = readdirSync(folder).filter((each) => each.endsWith('.tgz'));
    if (name === undefined) throw new Error('npm wrote no file');
    return { path: join(folder, name), [Symbol.dispose]: remove };
  } catch (error) {
    remove();
    if (signal.aborted) throw error;
    const reason = messageOf(error).slice(0, 1_000);
    throw new Error(`npm cannot pack this proctor for the new project: ${reason}. Name one with --proctor.`, {
      cause: error,
    });
  }
}
