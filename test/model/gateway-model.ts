import { onTestFinished } from 'vitest';
import { createGatewayModel, type GatewayOptions } from '../../src/model/gateway.ts';
import { type FakeGateway, fakeTiming, type Play, startGateway } from './fake-gateway.ts';

export const KEY = 'secret-key-of-the-gateway';

/** A gateway, until the test ends. */
export async function playing(...plays: Play[]): Promise<FakeGateway> {
  const gateway = await startGateway(...plays);
  onTestFinished(() => gateway.close());
  return gateway;
}

/** A model of such a gateway, whose waits take no time. */
export async function modelFor(plays: Play[], options: Partial<GatewayOptions> = {}) {
  const timing = fakeTiming();
  const gateway = await playing(...plays);
  const model = createGatewayModel('m-1', { baseUrl: gateway.url, apiKey: KEY, timing, ...options });
  return { gateway, model, timing };
}
