// Installs the programs of others that judge this project or stand beside it (the conformance suite, the Inspector, a peer
// for the benchmarks), in a folder of their own and by their own lock file. Does nothing where they are installed already.
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../test/referees/', import.meta.url));
const installed = `${folder}node_modules/.package-lock.json`;

if (!isUpToDate()) {
  console.log('Installing the referees (about 390 MB in test/referees) …');
  execFileSync('npm', ['ci', '--loglevel', 'error'], { cwd: folder, stdio: 'inherit' });
}

function isUpToDate() {
  // The package `node` links its program in an install script, which an install may have left out.
  if (!existsSync(installed) || !existsSync(`${folder}node_modules/.bin/node`)) return false;
  return statSync(installed).mtimeMs >= statSync(`${folder}package-lock.json`).mtimeMs;
}
