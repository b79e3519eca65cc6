import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import { EnvironmentServer } from 'proctor';
import * as v from 'valibot';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';

/** The same tool six times: each takes `to` and, where nothing is said, paints it white. */
export default function painter() {
  const env = new EnvironmentServer({ name: 'painter' });
  const paint = ({ to, colour }: { to: string; colour: string }) => `The ${to} is ${colour}.`;

  env.tool('fields', { args: { to: z.string(), colour: z.string().default('white') } }, paint);
  env.tool('zod', { args: z.object({ to: z.string(), colour: z.string().default('white') }) }, paint);
  env.tool('zod_3', { args: z3.object({ to: z3.string(), colour: z3.string().default('white') }) }, paint);
  env.tool('arktype', { args: type({ to: 'string', colour: 'string = "white"' }) }, paint);

  const Valibot = v.object({ to: v.string(), colour: v.optional(v.string(), 'white') });
  env.tool('valibot', { args: toStandardJsonSchema(Valibot) }, paint);

  const JsonSchema = {
    type: 'object',
    properties: { to: { type: 'string' }, colour: { type: 'string', default: 'white' } },
    required: ['to'],
    additionalProperties: false,
  } as const;
  env.tool('json_schema', { args: JsonSchema }, ({ to, colour }) => paint({ to: String(to), colour: String(colour) }));

  return env;
}
