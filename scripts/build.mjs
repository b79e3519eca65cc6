// Emits dist/: what tsc makes of src/, the style of the pages beside it, and the command made executable.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url));
const command = `${root}dist/cli/main.js`;

// The incremental state lives in dist/: without its output it would claim that there is nothing to do.
if (!existsSync(command)) rmSync(`${root}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
copyFileSync(`${root}src/web/style.css`, `${root}dist/web/style.css`);
if (existsSync(command)) chmodSync(command, 0o755);
