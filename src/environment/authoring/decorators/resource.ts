import type { Awaitable, ToolContext } from '../definition.ts';
import type { EnvironmentServer } from '../environment-server.ts';
import type { ResourceConfig, UriVariables } from '../resource.ts';
import { type Method, type MethodContext, registerMethod } from './method.ts';

type MethodArgs<Uri extends string> = [variables: UriVariables<Uri>, context: ToolContext];

/** Makes a method of an environment the handler of a resource, or of a template such as `notes://{id}`. */
export function resource<const Uri extends string>(uri: Uri, config: ResourceConfig<Uri> = {}) {
  return <This extends EnvironmentServer>(
    method: Method<This, MethodArgs<Uri>, Awaitable<unknown>>,
    context: MethodContext<This, MethodArgs<Uri>, Awaitable<unknown>>,
  ): void => {
    registerMethod('resource', method, context, (environment, call) => {
      environment.resource(uri, config, call);
    });
  };
}
