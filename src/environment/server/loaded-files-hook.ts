/**
 * Hooks of the module loader, which run in their own thread. Each URL that is loaded is posted to the port, also the
 * last file before a syntax error.
 */
import type { LoadHook } from 'node:module';
import type { MessagePort } from 'node:worker_threads';

// Module state, because Node.js passes the port to one hook and calls the other without it.
let port: MessagePort | undefined;

export function initialize(registered: { readonly port: MessagePort }): void {
  port = registered.port;
}

export const load: LoadHook = (url, context, nextLoad) => {
  port?.postMessage(url);
  return nextLoad(url, context);
};
