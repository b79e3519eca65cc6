// Installs the programs of others that judge this project or stand beside it (the conformance suite, the Inspector, a peer
// for the benchmarks), in a folder of their own and by their own lock file. Does nothing where they are installed already.
// With --agents it installs agents of others instead, which play scenarios as commands: a folder and a lock file of their own.
// With --optional a machine that cannot install them gets the reason and no failure, unless CI is set.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const referees = process.argv.includes('--agents')
  ? { folder: 'test/agent-referees/', program: 'codex', size: '860 MB' }
  : // The package `node` links its program in an install script, which an install may have left out.
    { folder: 'test/referees/', program: 'node', size: '390 MB' };
const folder = fileURLToPath(new URL(`../${referees.folder}`, import.meta.url));
const modules = `${folder}node_modules`;
const isOptional = process.argv.includes('--optional') && process.env.CI === undefined;

if (!isUpToDate()) {
  console.log(`Installing the referees (about ${referees.size} in ${referees.folder}) …`);
  try {
    // Asked first: without a network npm tries for minutes before it says so.
    if (isOptional)
      execFileSync('npm', ['ping', '--fetch-retries=0', '--loglevel', 'error'], {
        cwd: folder,
        stdio: 'pipe',
        encoding: 'utf8',
      });
    install();
  } catch (error) {
    if (!isOptional) throw error;
    const [reason] = /^npm error (?!code|syscall|errno).*$/m.exec(error.stderr ?? '') ?? [error.message];
    console.warn(`The referees could not be installed: ${reason.trim()}`);
  }
}

/** Aside, and moved into its place when it is whole: two runs of the tests may install at once. */
function install() {
  const aside = mkdtempSync(`${folder}.installing-`);
  try {
    for (const file of ['package.json', 'package-lock.json']) cpSync(join(folder, file), join(aside, file));
    const stdio = ['ignore', 'inherit', isOptional ? 'pipe' : 'inherit'];
    const options = { cwd: aside, stdio, encoding: 'utf8' };
    execFileSync('npm', ['ci', '--prefer-offline', '--no-audit', '--loglevel', 'error'], options);
    if (isUpToDate()) return;
    rmSync(modules, { recursive: true, force: true });
    renameSync(join(aside, 'node_modules'), modules);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

function isUpToDate() {
  const installed = join(modules, '.package-lock.json');
  if (!existsSync(installed) || !existsSync(join(modules, '.bin', referees.program))) return false;
  return statSync(installed).mtimeMs >= statSync(`${folder}package-lock.json`).mtimeMs;
}
