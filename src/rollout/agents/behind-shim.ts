import { closeSync, existsSync, openSync, readFileSync, readSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';

/** Bytes to read from the start of a file. A shim of asdf names its plugins there. */
const HEAD_BYTES = 4_096;

/**
 * Finds the program that a shim of Volta or asdf starts; returns the path itself if it is no shim. A shim looks for its
 * program in the user's home, which a sandbox does not show.
 */
export function behindShim(path: string): string {
  return [behindVolta(path), ...behindAsdf(path)].find((each) => each !== undefined && existsSync(each)) ?? path;
}

const voltaProgramSchema = z.object({ package: z.string().min(1) });
const voltaPlatformSchema = z.object({ node: z.object({ runtime: z.string().min(1) }) });

/** In Volta, `<home>/bin/<name>` links to one shared shim. `<home>/tools` says which package has the program. */
function behindVolta(path: string): string | undefined {
  if (basename(realpathSync(path)) !== 'volta-shim') return undefined;
  const name = basename(path);
  const tools = join(dirname(dirname(path)), 'tools');
  const program = voltaProgramSchema.safeParse(readJson(join(tools, 'user/bins', `${name}.json`)));
  if (program.success) return join(tools, 'image/packages', program.data.package, 'bin', name);
  const platform = voltaPlatformSchema.safeParse(readJson(join(tools, 'user/platform.json')));
  return platform.success ? join(tools, 'image/node', platform.data.node.runtime, 'bin', name) : undefined;
}

/** `<data>/shims/<name>` lists the plugins and versions that have a program of that name. The user's own version is first. */
function behindAsdf(path: string): readonly string[] {
  const folder = dirname(path);
  if (basename(folder) !== 'shims') return [];
  const listed = [...readHead(path).matchAll(/^# asdf-plugin: (\S+) (\S+)$/gm)].map(([, plugin = '', version = '']) => {
    return { plugin, version };
  });
  const data = dirname(folder);
  const chosen = readText(join(dirname(data), '.tool-versions'));
  const isChosen = ({ plugin, version }: (typeof listed)[number]) =>
    chosen.split('\n').some((line) => line.split(/\s+/)[0] === plugin && line.split(/\s+/).includes(version));
  return [...listed.filter(isChosen), ...listed.reverse()].map(({ plugin, version }) =>
    join(data, 'installs', plugin, version, 'bin', basename(path)),
  );
}

function readHead(path: string): string {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    return head.toString('utf8', 0, readSync(file, head, 0, HEAD_BYTES, 0));
  } finally {
    closeSync(file);
  }
}

function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readText(path));
  } catch {
    return undefined;
  }
}
