import type { Awaitable, InitializeContext } from '../definition.ts';
import type { EnvironmentServer } from '../environment-server.ts';
import { type Method, type MethodContext, registerMethod } from './method.ts';

/**
 * Makes a method a hook that runs during the MCP `initialize` request of each session, before the reply.
 *
 * @example
 * ```ts
 * @initialize
 * open({ meta }: InitializeContext): void {
 *   this.#size = `${meta.display_width} x ${meta.display_height}`;
 * }
 * ```
 */
export function initialize<This extends EnvironmentServer>(
  method: Method<This, [context: InitializeContext], Awaitable<void>>,
  context: MethodContext<This, [context: InitializeContext], Awaitable<void>>,
): void {
  registerMethod('initialize', method, context, (environment, call) => {
    environment.initialize(call);
  });
}

/**
 * Makes a method a hook that runs once, on SIGTERM only. These hooks run in reverse order of their registration.
 *
 * @example
 * ```ts
 * @shutdown
 * tellTheHarbour(): void {
 *   console.log('The lighthouse is closed.');
 * }
 * ```
 */
export function shutdown<This extends EnvironmentServer>(
  method: Method<This, [], Awaitable<void>>,
  context: MethodContext<This, [], Awaitable<void>>,
): void {
  registerMethod('shutdown', method, context, (environment, call) => {
    environment.shutdown(call);
  });
}

/**
 * Makes a method a hook that runs when a session ends, for any reason.
 *
 * @example
 * ```ts
 * @close
 * leave(): void {
 *   this.#size = '';
 * }
 * ```
 */
export function close<This extends EnvironmentServer>(
  method: Method<This, [], Awaitable<void>>,
  context: MethodContext<This, [], Awaitable<void>>,
): void {
  registerMethod('close', method, context, (environment, call) => {
    environment.close(call);
  });
}
