import { EnvironmentServer } from 'proctor';
import { z } from 'zod';

export function createDoor() {
  let isOpen = true;
  const env = new EnvironmentServer({ name: 'door' });
  env.tool('push', {}, () => {
    isOpen = !isOpen;
  });
  const shut = env.scenario('shut', { args: { times: z.int().default(1) } }, async function* ({ times }) {
    isOpen = true;
    yield `Push the door ${times} times.`;
    return !isOpen;
  });
  return { env, shut };
}

export default () => createDoor().env;
