import { fileURLToPath } from 'node:url';
import { afterEach, expect } from 'vitest';
import { BoundaryError } from '../../../src/contract/errors.ts';
import type { LogRecord } from '../../../src/contract/service/trace.ts';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import type {
  ConnectOptions,
  EnvironmentClient,
  EnvironmentTarget,
} from '../../../src/environment/client/environment-client.ts';

export function fixture(name: string): string {
  return fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
}

/** A place for the connections of a test file: they are closed, and the logs forgotten, after each test. */
export function connections() {
  const open: EnvironmentClient[] = [];
  const logs: Omit<LogRecord, 'at'>[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((client) => client.close()));
    logs.length = 0;
  });
  return {
    logs,
    messages: () => logs.map((record) => record.message),
    connect: async (target: EnvironmentTarget, options: ConnectOptions = {}) => {
      const client = await connectEnvironment(target, { onLog: (record) => logs.push(record), ...options });
      open.push(client);
      return client;
    },
  };
}

/** What a promise was rejected with, which has to be a `BoundaryError`. */
export async function failureOf(promise: Promise<unknown>): Promise<BoundaryError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(BoundaryError);
  return error as BoundaryError;
}
