import { ApiError } from '../../contract/errors.ts';
import { lifecycleCallSchema, lifecycleResultSchema, lifecycleToolListSchema } from '../../contract/lifecycle.ts';
import { accountOf } from '../../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../../support/http/api/route.ts';
import { preview } from '../../support/schema/json-schema.ts';
import type { LifecycleTools } from './lifecycle-tools.ts';

/** The lifecycle tools over plain HTTP, at both of their paths. */
export function createLifecycleRoutes(tools: LifecycleTools): readonly Route[] {
  return ['/v1/lifecycle-tools', '/mcp/tools'].flatMap((path) => [
    defineRoute({
      method: 'GET',
      path,
      summary: 'The tools that start, continue and finish a session',
      access: 'key',
      response: lifecycleToolListSchema,
      handle: () => ({ body: { tools: tools.list() } }),
    }),
    defineRoute({
      method: 'POST',
      path: `${path}/call`,
      summary: 'Call one of them',
      access: 'key',
      request: lifecycleCallSchema,
      response: lifecycleResultSchema,
      async handle({ body, requestId, signal, caller }) {
        if (!tools.has(body.name)) throw unknownTool(body.name, tools);
        return { body: await tools.call(body.name, body.arguments, { requestId, signal, account: accountOf(caller) }) };
      },
    }),
  ]);
}

function unknownTool(name: string, tools: LifecycleTools): ApiError {
  const names = tools.list().map((tool) => tool.name);
  return new ApiError('tool_not_found', `There is no tool ${preview(name)}. There are ${names.join(', ')}.`, {
    param: 'name',
  });
}
