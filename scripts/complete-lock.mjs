// npm drops optional platform builds that the registry in use does not carry, and `npm ci` then refuses the lock that
// npm itself wrote. This adds an entry for each of them, so that the lock is complete everywhere. Run after `npm install`.
// An argument names another lock file.
import { readFileSync, writeFileSync } from 'node:fs';

const path = process.argv[2] ?? new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(path, 'utf8'));
let added = 0;
for (const [place, entry] of Object.entries(lock.packages)) {
  if (place === '') continue;
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(place, name)) continue;
    const version = range.replace(/^[\^~]/, '');
    const [os, cpu] = platformOf(name);
    lock.packages[`node_modules/${name}`] = {
      version,
      ...(entry.dev ? { dev: true } : {}),
      optional: true,
      ...(os ? { os: [os] } : {}),
      ...(cpu ? { cpu: [cpu] } : {}),
    };
    added += 1;
  }
}
const { '': root, ...rest } = lock.packages;
lock.packages = { '': root, ...Object.fromEntries(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))) };
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`package-lock.json: ${added} optional platform entries added`);

function isLocked(place, name) {
  const segments = place.split('/node_modules/');
  for (let depth = segments.length; depth >= 0; depth -= 1) {
    const prefix = segments.slice(0, depth).join('/node_modules/');
    if (lock.packages[`${prefix === '' ? '' : `${prefix}/`}node_modules/${name}`]) return true;
  }
  return false;
}

function platformOf(name) {
  const parts = name.split(/[/-]/);
  const systems = [
    'android',
    'darwin',
    'win32',
    'linux',
    'freebsd',
    'openbsd',
    'netbsd',
    'sunos',
    'aix',
    'openharmony',
  ];
  const processors = ['arm64', 'x64', 'ia32', 'arm', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x'];
  return [parts.find((part) => systems.includes(part)), parts.find((part) => processors.includes(part))];
}
