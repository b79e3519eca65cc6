import { tasksetListSchema } from '../contract/task.ts';
import { toPublicMessage } from '../http/errors.ts';
import { defineRoute, type Route } from '../http/route.ts';
import type { Tasksets } from '../tasks/find-tasksets.ts';

/** `GET /v1/tasksets`: what an evaluation can name. Those who ask meanwhile share one reading. */
export function createTasksetsRoute(tasksets: Tasksets, closing: AbortSignal): Route {
  let reading: ReturnType<Tasksets['list']> | undefined;
  const list = () => {
    reading ??= tasksets.list(closing).finally(() => {
      reading = undefined;
    });
    return reading;
  };
  return defineRoute({
    method: 'GET',
    path: '/v1/tasksets',
    summary: 'The tasksets of this service, with their versions',
    access: 'key-or-browser',
    response: tasksetListSchema,
    handle: async () => {
      const data = (await list()).map((entry) => ({ ...entry, error: entry.error && toPublicMessage(entry.error) }));
      return { body: { object: 'list', data } };
    },
  });
}
