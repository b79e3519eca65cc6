// Emits dist/, where it is older than what it is made of: what tsc makes of src/, what esbuild makes of that for
// starts, what Vite makes of the pages, and the command made executable.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const stamp = `${root}dist/.built`;

checkNode();
if (!isUpToDate()) await build();

/** Before anything else is loaded, which an older one may not even be able to read. */
function checkNode() {
  const least = JSON.parse(readFileSync(`${root}package.json`, 'utf8')).engines.node.replace('>=', '');
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [leastMajor, leastMinor] = least.split('.').map(Number);
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return;
  console.error(`Proctor needs Node.js ${least} or newer, and this is ${process.versions.node}.`);
  process.exit(1);
}

async function build() {
  const tsc = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url));
  const command = `${root}dist/cli/main.js`;
  // The incremental state lives in dist/: without its output it would claim that there is nothing to do.
  if (!existsSync(command)) rmSync(`${root}dist`, { recursive: true, force: true });
  rmSync(stamp, { force: true });
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
  const { buildStart } = await import('./build-start.mjs');
  await buildStart();
  const { buildWeb } = await import('./build-web.mjs');
  await buildWeb();
  removeStaleOutput();
  chmodSync(command, 0o755);
  writeFileSync(stamp, '');
}

/**
 * Removes what tsc made of sources that are gone. It does so last and file by file: a server that runs from here keeps
 * every module that there still is. What Vite and esbuild make is theirs.
 */
function removeStaleOutput() {
  const isEmitted = (path) => {
    const source = path.replace(/(\.d\.ts|\.js)$/, '');
    return ['.ts', '.tsx'].some((ending) => existsSync(join(root, 'src', source + ending)));
  };
  const own = readdirSync(join(root, 'dist'), { recursive: true, withFileTypes: true })
    .map((entry) => ({ entry, path: join(entry.parentPath, entry.name).slice(join(root, 'dist/').length) }))
    .filter(({ path }) => !path.startsWith('.') && !/^(start|web[/\\](app|helpers|standalone))([/\\]|$)/.test(path));
  for (const { entry, path } of own) if (entry.isFile() && !isEmitted(path)) rmSync(join(root, 'dist', path));
  const folders = own.filter(({ entry }) => entry.isDirectory()).map(({ path }) => join(root, 'dist', path));
  // The innermost first: one that held nothing else is empty then.
  for (const folder of folders.toSorted((a, b) => b.length - a.length)) {
    if (readdirSync(folder).length === 0) rmdirSync(folder);
  }
}

/** Folders count too: a file that was deleted changes its folder alone. */
function isUpToDate() {
  if (!existsSync(stamp)) return false;
  const builtAt = statSync(stamp).mtimeMs;
  const configuration = [
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'scripts/build.mjs',
    'scripts/build-start.mjs',
    'scripts/build-web.mjs',
  ];
  const sources = readdirSync(`${root}src`, { recursive: true }).map((path) => join('src', path));
  return [...configuration, 'src', ...sources].every((path) => statSync(join(root, path)).mtimeMs < builtAt);
}
