import { execFileSync } from 'node:child_process';

/** Child processes in tests import the package by its name, so what they run is dist/: it has to be that of this source. */
export default function buildOnce(): void {
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
}
