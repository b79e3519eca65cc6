import { z } from 'zod';
import { variablesSchema } from '../rollout/agents/agent-definition.ts';

/** The way to deploy a trained model. */
const deploySchema = z.enum(['none', 'nebius', 'vllm-lora']).default('none');
const trainerFields = {
  deploy: deploySchema,
  /** The base model of a deployment, if its name differs from that for training. */
  deployBase: z.string().min(1).optional(),
  /**
   * A key of `gateways` that serves the trained models. Default: the gateway whose pattern matches the model's name.
   */
  gateway: z.string().min(1).optional(),
};
const remoteTrainerFields = { url: z.url(), apiKey: z.string().min(1).optional(), ...trainerFields };

/** A trainer in `proctor.config.ts`. */
export const trainerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('openai'), ...remoteTrainerFields }),
  z.strictObject({
    kind: z.literal('together'),
    ...remoteTrainerFields,
    url: z.url().default('https://api.together.xyz/v1'),
  }),
  z.strictObject({ kind: z.literal('fireworks'), ...remoteTrainerFields }),
  z.strictObject({
    kind: z.literal('command'),
    command: z.array(z.string()).min(1),
    env: variablesSchema.default({}),
    ...trainerFields,
  }),
]);

export type TrainerConfig = z.output<typeof trainerSchema>;
