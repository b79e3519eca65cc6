import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { startPostgres } from './postgres.ts';

/** What a test worker that asks is told. */
export type SharedPostgres = { readonly port: number } | { readonly unavailable: string };

declare module 'vitest' {
  interface ProvidedContext {
    /** A test worker asks here for the shared server. */
    readonly postgresUrl: string;
  }
}

/** One Postgres for all workers of a run, started when the first of them asks. */
export default async function postgresForAll(project: TestProject): Promise<() => Promise<void>> {
  let starting: ReturnType<typeof startPostgres> | undefined;
  const start = () =>
    process.env.TEST_POSTGRES === 'none' ? Promise.reject(new Error('TEST_POSTGRES is none')) : startPostgres();
  const answer = async (): Promise<SharedPostgres> => {
    const isFirst = starting === undefined;
    starting ??= start();
    try {
      return { port: (await starting).port };
    } catch (error) {
      const unavailable = error instanceof Error ? error.message : String(error);
      if (isFirst) console.warn(`skipped: tests on Postgres, which cannot be started: ${unavailable}`);
      return { unavailable };
    }
  };
  const desk = createServer(async (_, response) => void response.end(JSON.stringify(await answer())));
  await new Promise<void>((resolve) => desk.listen(0, '127.0.0.1', resolve));
  project.provide('postgresUrl', `http://127.0.0.1:${(desk.address() as AddressInfo).port}`);
  return async () => {
    desk.closeAllConnections();
    desk.close();
    await starting?.then((server) => server.close()).catch(() => {});
  };
}
