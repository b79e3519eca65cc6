import { createRequire, register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';

const PACKAGE_ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * Finds the files that this process loads from now on, without installed packages and this package. Make it before the
 * module is loaded. It lasts as long as the process.
 */
export class LoadedFiles {
  readonly #port: MessagePort;
  readonly #known = new Set<string>();

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    register('./loaded-files-hook.js', import.meta.url, { data: { port: port2 }, transferList: [port2] });
  }

  /** Absolute paths of files loaded since the last call. */
  take(): string[] {
    const urls: string[] = [];
    for (let next = receiveMessageOnPort(this.#port); next !== undefined; next = receiveMessageOnPort(this.#port)) {
      urls.push(String(next.message));
    }
    // Files that a CommonJS module requires do not pass through the hooks.
    const required = Object.keys(createRequire(import.meta.url).cache);
    const fresh = [...urls.flatMap(toPath), ...required].filter((path) => isOwn(path) && !this.#known.has(path));
    for (const path of fresh) this.#known.add(path);
    return [...new Set(fresh)];
  }

  /**
   * Calls `onFiles` for files that are loaded later, such as by an `import()` in a tool. Does not keep the process
   * alive.
   */
  follow(onFiles: (files: readonly string[]) => void): void {
    this.#port.on('message', (url: unknown) => {
      const fresh = [...toPath(String(url)).filter((path) => isOwn(path) && !this.#known.has(path)), ...this.take()];
      for (const path of fresh) this.#known.add(path);
      if (fresh.length > 0) onFiles(fresh);
    });
    this.#port.unref();
  }
}

function isOwn(path: string): boolean {
  return !path.includes('/node_modules/') && !path.startsWith(`${PACKAGE_ROOT}dist/`);
}

function toPath(url: string): string[] {
  if (!url.startsWith('file:')) return [];
  const address = new URL(url);
  address.search = '';
  address.hash = '';
  return [fileURLToPath(address)];
}
