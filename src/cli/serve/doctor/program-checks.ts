import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import type { Finding } from './finding.ts';

const PROGRAM_LIMIT_MS = 10_000;
/** Most files of an environment that are searched. */
const MAX_FILES = 200;
const MAX_FILE_BYTES = 256 * 1024;
const CHROMIUM_PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'] as const;
/** The first version with `--disable-userns`. */
const OLDEST_BUBBLEWRAP = '0.8.0';

/** Checks programs that the code of the environments names. */
export async function checkPrograms(environments: ReadonlyMap<string, EnvironmentTarget>): Promise<readonly Finding[]> {
  const sources = await Promise.all(
    [...environments].map(async ([name, target]) => ({ name, text: await sourceOf(target) })),
  );
  const namedBy = (pattern: RegExp) => sources.filter(({ text }) => pattern.test(text)).map(({ name }) => name);
  const sandboxed = namedBy(/\bbwrap\b/);
  const browsing = namedBy(/PROCTOR_CHROMIUM|\bchromium\.launch\b/);
  return await Promise.all([
    ...(sandboxed.length > 0 ? [checkBubblewrap(sandboxed)] : []),
    ...(browsing.length > 0 ? [checkChromium(browsing)] : []),
  ]);
}

async function checkBubblewrap(users: readonly string[]): Promise<Finding> {
  const name = 'bubblewrap';
  const users_ = users.join(', ');
  const way = 'install it (on Debian: apt-get install bubblewrap)';
  let version: string;
  try {
    version = /\d+(?:\.\d+)+/.exec(await output('bwrap', ['--version']))?.[0] ?? '';
  } catch {
    return lacking(name, users, `not found, and ${users_} runs commands in it: ${way}`);
  }
  if (version.localeCompare(OLDEST_BUBBLEWRAP, 'en', { numeric: true }) < 0) {
    return lacking(name, users, `${version} is too old for ${users_}: ${OLDEST_BUBBLEWRAP} or newer`);
  }
  try {
    await output('bwrap', [
      ...['--ro-bind', '/', '/'],
      ...['--unshare-user', '--unshare-pid', '--unshare-net'],
      'true',
    ]);
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n').at(-1) : '';
    const remedy = 'allow unprivileged user namespaces, or put the worker into a container or machine of its own';
    return lacking(name, users, `${version} makes no sandbox here (${said}), needed by ${users_}: ${remedy}`);
  }
  return { name, status: 'ok', message: `${version} makes a sandbox (for ${users_})`, facts: { version } };
}

async function checkChromium(users: readonly string[]): Promise<Finding> {
  const name = 'chromium';
  const named = process.env.PROCTOR_CHROMIUM;
  const candidates = named ? [named] : CHROMIUM_PATHS;
  for (const path of candidates) {
    const version = await output(path, ['--version']).catch(() => undefined);
    if (version === undefined) continue;
    return { name, status: 'ok', message: `${version.trim()} at ${path} (for ${users.join(', ')})` };
  }
  const way = named
    ? `PROCTOR_CHROMIUM names ${named}, which does not run: correct it`
    : 'install it (on Debian: apt-get install chromium), or set PROCTOR_CHROMIUM to the path of one';
  return lacking(name, users, `not found, and ${users.join(', ')} drives it: ${way}`);
}

function lacking(name: string, environments: readonly string[], message: string): Finding {
  return { name, status: 'warn', message, facts: { environments } };
}

/** Maps each environment to the programs that it lacks, from the findings of `checkPrograms`. */
export function lackedPrograms(findings: readonly Finding[]): ReadonlyMap<string, string> {
  const lacked = new Map<string, string>();
  for (const { name, status, facts } of findings) {
    const environments = status === 'warn' && Array.isArray(facts?.environments) ? facts.environments : [];
    for (const environment of environments)
      lacked.set(environment, [lacked.get(environment), name].filter(Boolean).join(', '));
  }
  return lacked;
}

async function output(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { timeout: PROGRAM_LIMIT_MS, killSignal: 'SIGKILL' });
  return stdout;
}

/**
 * The code of a module's folder. Empty for other targets and for unreadable ones, whose start reports a better
 * error.
 */
async function sourceOf(target: EnvironmentTarget): Promise<string> {
  if (target.kind !== 'module') return '';
  try {
    const folder = dirname(target.path);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile() && /\.[cm]?[jt]s$/.test(entry.name) && !/\.test\./.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !path.includes('node_modules'))
      .slice(0, MAX_FILES);
    const texts = await Promise.all(files.map(readSmallFile));
    return texts.join('\n');
  } catch {
    return '';
  }
}

async function readSmallFile(path: string): Promise<string> {
  const { size } = await stat(path);
  return size <= MAX_FILE_BYTES ? await readFile(path, 'utf8') : '';
}
