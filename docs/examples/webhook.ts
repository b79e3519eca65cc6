import { createHmac, timingSafeEqual } from 'node:crypto';
import express, { type ErrorRequestHandler, type Express } from 'express';
import { ApiError, type ServiceClient } from 'proctor/client';

/** Starts a run when a new version of an agent was deployed. `secret` signs what is sent here. */
export function createWebhook(service: ServiceClient, secret: string): Express {
  const app = express();
  app.disable('x-powered-by');
  app.post('/deployed', express.raw({ type: () => true, limit: '256kb' }), async (request, response) => {
    if (!isSigned(request.body, request.get('x-hub-signature-256'), secret)) {
      response.status(401).json({ error: 'The signature is wrong.' });
      return;
    }
    const announced = parseAnnouncement(request.body);
    if (announced === undefined) {
      response.status(400).json({ error: 'Send JSON with "model" and "version", both texts.' });
      return;
    }
    const { model, version } = announced;
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
      const isRefused = error.status >= 400 && error.status < 500; // 0: the service did not answer at all.
      response.status(isRefused ? 422 : 503).json({ error: error.message });
    }
  });
  app.use((_request, response) => void response.status(404).json({ error: 'There is nothing but POST /deployed.' }));
  app.use(withoutStack);
  return app;
}

/** A request without a body has none at all. */
function isSigned(body: unknown, signature: string | undefined, secret: string): boolean {
  if (!Buffer.isBuffer(body)) return false;
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(signature ?? '');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function parseAnnouncement(body: Buffer): { readonly model: string; readonly version: string } | undefined {
  try {
    const { model, version } = JSON.parse(body.toString());
    return typeof model === 'string' && typeof version === 'string' ? { model, version } : undefined;
  } catch {
    return undefined;
  }
}

/** The sender learns whose fault it is; the rest is for the log of this server. Four arguments make it a handler of errors. */
const withoutStack: ErrorRequestHandler = (error, _request, response, _next) => {
  const status = error.status >= 400 && error.status < 500 ? error.status : 500;
  if (status === 500) console.error(error);
  response.status(status).json({ error: status === 500 ? 'It did not work here.' : 'The request cannot be read.' });
};
