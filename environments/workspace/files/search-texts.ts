import { Worker } from 'node:worker_threads';
import { ToolError } from 'proctor';

const TIME_MS = 3_000;
const HEAP_MEGABYTES = 128;

export interface TextSearch {
  readonly pattern: string;
  readonly isRegex: boolean;
  readonly texts: readonly { readonly path: string; readonly text: string }[];
}

/**
 * Searches in a thread of its own, which is ended when its time is over: a regular expression may take forever, and the
 * server must not.
 *
 * @throws ToolError for a bad or slow pattern; the reason of the signal when that is aborted.
 */
export async function searchTexts(search: TextSearch, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const worker = new Worker(new URL('./search-worker.mjs', import.meta.url), {
    workerData: search,
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
  });
  let timer: NodeJS.Timeout | undefined;
  let onAbort = () => {};
  try {
    return await new Promise<string>((resolve, reject) => {
      const slow = `The search took longer than ${TIME_MS} ms: use a simpler pattern, or plain text.`;
      timer = setTimeout(() => reject(new ToolError(slow)), TIME_MS);
      onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      worker.once('message', ({ found, problem }: { readonly found?: string; readonly problem?: string }) => {
        if (found === undefined) reject(new ToolError(`The pattern cannot be searched for: ${problem}`));
        else resolve(found);
      });
      worker.once('error', reject);
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}
