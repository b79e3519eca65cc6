import { ToolError } from '../authoring/tool-result.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';

/** A path as the agent's own user sees it, all links followed. */
export interface Located {
  /** The real path. Below a folder that does not exist, the rest is as it was given. */
  readonly path: string;
  readonly type: 'file' | 'folder' | 'missing' | 'other';
  readonly canRead: boolean;
  /** For a path that does not exist: true if it can be made. */
  readonly canWrite: boolean;
}

const LOCATE_MS = 30_000;
const MAX_PATH_BYTES = 64 * 1024;

/**
 * Follows a path with nothing but the shell's own words, and `readlink` where the last part is a link. The tests for
 * rights are those of the user that runs commands: files are then read and written by the engine, which has more.
 */
const SCRIPT = `
d=$1 rest=$2 n=0
while :; do
  until cd -P -- "$d" 2>/dev/null; do
    if [ -e "$d" ] || [ -L "$d" ]; then printf 'blocked\\n%s' "$d"; exit; fi
    rest=\${d##*/}/$rest d=\${d%/*}
    [ -n "$d" ] || d=/
  done
  d=$(pwd -P)
  [ "$d" = / ] && p=/$rest || p=$d/$rest
  [ -L "$p" ] || break
  n=$((n+1))
  [ $n -le 40 ] || { printf 'loop\\n%s' "$p"; exit; }
  t=$(readlink "$p") || { printf 'link\\n%s' "$p"; exit; }
  case $t in /*) ;; *) t=$d/$t ;; esac
  while case $t in /?*/) true ;; *) false ;; esac; do t=\${t%/}; done
  d=\${t%/*} rest=\${t##*/}
  [ -n "$d" ] || d=/
done
k=other r= w=
if [ -d "$p" ]; then k=folder; elif [ -f "$p" ]; then k=file; elif [ ! -e "$p" ]; then k=missing; fi
[ -r "$p" ] && r=r
if [ $k = missing ]; then [ -w "$d" ] && w=w; elif [ -w "$p" ]; then w=w; fi
printf '%s %s%s\\n%s' $k "$r" "$w" "$p"
`;

/** @param path absolute. @throws ToolError for a path that cannot be followed. */
export async function locate(sandbox: Sandbox, path: string, signal: AbortSignal): Promise<Located> {
  if (path.includes('\0')) throw new ToolError('A path cannot have a NUL character.');
  const clean = path.replace(/\/+$/, '') || '/';
  const at = clean.lastIndexOf('/');
  const [folder, name] = clean === '/' ? ['/', '.'] : [clean.slice(0, at) || '/', clean.slice(at + 1)];
  const options = { signal, timeoutMs: LOCATE_MS, maxOutputBytes: MAX_PATH_BYTES };
  const result = await sandbox.exec(['sh', '-c', SCRIPT, 'sh', folder, name], options);
  const end = result.stdout.indexOf('\n');
  const [kind = '', rights = ''] = result.stdout.slice(0, end).split(' ');
  const real = result.stdout.slice(end + 1).replace(/(?<=.)\/\.$/, '');
  if (result.exitCode !== 0 || end === -1) throw new ToolError(`The path ${path} cannot be looked up.`);
  if (kind === 'blocked')
    throw new ToolError(`The path ${path} cannot be reached: ${real} is no folder that you may enter.`);
  if (kind === 'loop') throw new ToolError(`The path ${path} leads in a circle of links.`);
  if (kind === 'link')
    throw new ToolError(`The path ${path} is a link, and this computer has no readlink to follow it.`);
  const type = kind === 'file' || kind === 'folder' || kind === 'missing' ? kind : 'other';
  return { path: real === '/.' ? '/' : real, type, canRead: rights.includes('r'), canWrite: rights.includes('w') };
}
