import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';

/** Folders of programs and libraries. Not all of /usr, because /usr/src and others may hold projects. */
export const PROGRAM_FOLDERS = [
  ...['/usr/bin', '/usr/sbin', '/usr/lib', '/usr/lib32', '/usr/lib64', '/usr/libexec', '/usr/share'],
  ...['/usr/local/bin', '/usr/local/lib', '/usr/local/share'],
];
/** Folders that are links into /usr on most systems. */
export const ROOT_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64'];
const MODULES = 'node_modules';
/** Largest start script of a package manager, in bytes. Larger files are not searched. */
const MAX_START_SCRIPT_BYTES = 64 * 1_024;

/**
 * Paths that a command line needs: the files that its words name, Node.js, and what belongs to each program. That is
 * its npm package with the other packages, its Python virtual environment, or its script's folder. The paths may be
 * links.
 */
export function programPaths(template: readonly string[], closed: readonly string[]): readonly string[] {
  const named = template.filter((word) => word.startsWith(sep) && isFile(word));
  const programs = [process.execPath, ...named, ...named.flatMap(startedBy)];
  const paths = programs.flatMap((path) => [...pathsOf(path, closed), ...pathsOf(realpathSync(path), closed)]);
  return [...paths, ...linkedPackages(paths)];
}

function pathsOf(path: string, closed: readonly string[]): readonly string[] {
  if (isAmongPrograms(path)) return [];
  const modules = modulesOf(path);
  if (modules !== undefined) return [modules];
  const folder = dirname(path);
  const above = dirname(folder);
  if (basename(folder) === 'bin' && existsSync(join(above, 'pyvenv.cfg'))) return [above];
  // If other things share the folder, only the file itself is opened.
  const isShared = basename(folder) === 'bin' || folder === sep || closed.some((each) => contains(folder, each));
  return [isShared ? path : folder, ...packagesAbove(folder)];
}

/** The `node_modules` folder that contains a path. */
function modulesOf(path: string): string | undefined {
  const at = path.indexOf(`${sep}${MODULES}${sep}`);
  return at === -1 ? undefined : path.slice(0, at + sep.length + MODULES.length);
}

/** Packages that a script can import: those in its folder and in all folders above. */
function packagesAbove(folder: string): readonly string[] {
  const found: string[] = [];
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    for (const name of [MODULES, 'package.json']) if (existsSync(join(at, name))) found.push(join(at, name));
  }
  return found;
}

/** Programs that a start script of pnpm starts. It names them relative to its own folder. */
function startedBy(script: string): readonly string[] {
  if (statSync(script).size > MAX_START_SCRIPT_BYTES) return [];
  const text = readFileSync(script, 'latin1');
  if (!text.startsWith('#!')) return [];
  const named = [...text.matchAll(/\$basedir(?:_abs)?"?\/'?([^"'$]+)/g)].map(([, path = '']) =>
    join(dirname(script), path),
  );
  return [...new Set(named)].filter(isFile);
}

/**
 * Follows the links between installed packages: pnpm gives each package its own folder with links to its imports. A
 * link to another folder, such as an environment in the same workspace, opens nothing.
 */
function linkedPackages(opened: readonly string[]): readonly string[] {
  const found = new Set(opened.filter((path) => basename(path) === MODULES));
  for (const modules of found) {
    for (const link of linksIn(modules)) {
      const target = existsSync(link) ? modulesOf(realpathSync(link)) : undefined;
      if (target !== undefined && !isAmongPrograms(target)) found.add(target);
    }
  }
  return [...found];
}

/** Links in a `node_modules` folder and in its scope folders. */
function linksIn(modules: string): readonly string[] {
  if (statSync(modules, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(modules, { withFileTypes: true }).flatMap((entry) => {
    const path = join(modules, entry.name);
    if (entry.isSymbolicLink()) return [path];
    return entry.isDirectory() && entry.name.startsWith('@') ? linksIn(path) : [];
  });
}

export function contains(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

export function isAmongPrograms(path: string): boolean {
  return [...PROGRAM_FOLDERS, ...ROOT_FOLDERS].some((folder) => path.startsWith(`${folder}${sep}`));
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
