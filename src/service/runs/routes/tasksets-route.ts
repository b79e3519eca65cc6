import { tasksetListSchema } from '../../../contract/task.ts';
import type { Tasksets } from '../../../evaluation/tasks/find-tasksets.ts';
import { defineRoute, type Route } from '../../../support/http/api/route.ts';
import { toPublicMessage } from '../../../support/redaction/machine-text.ts';

/** `GET /v1/tasksets`: tasksets that an evaluation can name. Concurrent requests share one read. */
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
