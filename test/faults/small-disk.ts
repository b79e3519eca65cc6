import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A file system of a few megabytes, which ends with this process, however that ends. */
export interface SmallDisk {
  readonly directory: string;
  /** Until not a byte is left. */
  fill(): void;
  /** Takes away what `fill` wrote. */
  free(): void;
  close(): Promise<void>;
}

/** Why there can be none here; undefined where there can. */
export function whyNoSmallDisk(): string | undefined {
  if (process.platform !== 'linux') return 'a tmpfs is needed, which is of Linux';
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', '/mnt'], {
      stdio: 'ignore',
    });
    return undefined;
  } catch {
    return 'the right to mount a tmpfs is needed (run it as root, in a container with the capability SYS_ADMIN)';
  }
}

const BLOCK = Buffer.alloc(4_096);

export async function mountSmallDisk(mebibytes: number): Promise<SmallDisk> {
  const directory = mkdtempSync(join(tmpdir(), 'proctor-disk-'));
  // A shell between us and it, which takes it away when our end of its standard input closes, by kill -9 of us too.
  const script = 'mount -t tmpfs -o size="$1" tmpfs "$0" && echo mounted && read -r _; umount --lazy "$0"; rmdir "$0"';
  const guard = spawn('sh', ['-c', script, directory, `${mebibytes}m`], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  const ended = once(guard, 'exit');
  const mounted = once(createInterface({ input: guard.stdout }), 'line').then(() => true);
  if (!(await Promise.race([mounted, ended.then(() => false)]))) throw new Error(`No tmpfs at ${directory}`);
  const ballast = join(directory, 'ballast');
  return {
    directory,
    fill() {
      const file = openSync(ballast, 'a');
      try {
        for (;;) writeSync(file, BLOCK);
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(ballast),
    async close() {
      guard.stdin.end();
      await ended;
    },
  };
}
