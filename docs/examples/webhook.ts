import { createHmac, timingSafeEqual } from 'node:crypto';
import express, { type Express } from 'express';
import { ApiError, type ServiceClient } from 'proctor/client';

/** Starts a run when a new version of an agent was deployed. `secret` signs what is sent here. */
export function createWebhook(service: ServiceClient, secret: string): Express {
  const app = express();
  app.post('/deployed', express.raw({ type: 'application/json', limit: '256kb' }), async (request, response) => {
    if (!isSigned(request.body, request.get('x-hub-signature-256'), secret)) {
      response.status(401).json({ error: 'The signature is wrong.' });
      return;
    }
    const { model, version } = JSON.parse(request.body.toString());
    try {
      const run = await service.runs.create(
        { env_name: 'counter', scenario_name: 'count_to', scenario_args: { target: 3 }, model, metadata: { version } },
        // Who sends it waits some seconds, and sends it again with the same id when the answer is lost.
        { waitSeconds: 8, idempotencyKey: request.get('x-github-delivery') ?? version },
      );
      const isEnded = run.status !== 'queued' && run.status !== 'running';
      response.status(isEnded ? 200 : 202).json(run);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      response.status(error.status < 500 ? 422 : 503).json({ error: error.message });
    }
  });
  app.get('/runs/:trace_id', async (request, response) => {
    const { status, reward, trace_url } = await service.traces.get(request.params.trace_id);
    response.json({ status, reward, trace_url });
  });
  return app;
}

function isSigned(body: Buffer, signature: string | undefined, secret: string): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(signature ?? '');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
