import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The program that an environment's process runs: the built file, also for code that runs from `src`, where plain Node.js could not load it. */
export function environmentMainPath(): string {
  const beside = fileURLToPath(new URL('../mcp/environment-main.js', import.meta.url));
  return existsSync(beside) ? beside : fileURLToPath(new URL('../../dist/mcp/environment-main.js', import.meta.url));
}
