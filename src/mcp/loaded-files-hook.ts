/**
 * Hooks of the module loader, which run on its own thread: each address that is loaded is told to whoever registered them.
 * The last file before a syntax error is among them.
 */
import type { LoadHook } from 'node:module';
import type { MessagePort } from 'node:worker_threads';

// State of the module: Node.js hands the port to one hook and calls the other without it.
let port: MessagePort | undefined;

export function initialize(registered: { readonly port: MessagePort }): void {
  port = registered.port;
}

export const load: LoadHook = (url, context, nextLoad) => {
  port?.postMessage(url);
  return nextLoad(url, context);
};
