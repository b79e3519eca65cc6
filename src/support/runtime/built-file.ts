import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The path of a built file of the package, for a process or thread that starts with it.
 * Code that runs from `src` gets the file in `dist` too, since plain Node.js cannot load TypeScript.
 *
 * @param path relative to `dist`, for example `store/database/sqlite/sqlite-scan-thread.js`.
 */
export function builtFile(path: string): string {
  const beside = fileURLToPath(new URL(`../../${path}`, import.meta.url));
  return existsSync(beside) ? beside : fileURLToPath(new URL(`../../../dist/${path}`, import.meta.url));
}
