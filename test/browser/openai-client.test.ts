import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build, type Rollup } from 'vite';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { calls, says } from '../gateway.ts';
import { counting, serve } from '../service/chat/server.ts';
import { startService } from '../service/runs/service.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';

const executablePath = findChromium('test/browser/openai-client.test.ts');

/** The `openai` client as a page loads it: one script, which sets `OpenAI`. */
async function bundleClient(): Promise<string> {
  const entry = fileURLToPath(new URL('fixtures/openai-in-a-page.ts', import.meta.url));
  const built = await build({
    configFile: false,
    publicDir: false,
    logLevel: 'error',
    build: { write: false, lib: { entry, formats: ['iife'], name: 'page' }, minify: false },
  });
  const [{ output }] = built as [Rollup.RollupOutput]; // One format, not watched.
  return output[0].code;
}

describe.skipIf(executablePath === undefined)('the openai client in a page of another origin', PATIENCE, () => {
  let script = '';
  beforeAll(async () => {
    script = await bundleClient();
  }, 60_000);
  const openPage = useChromium(executablePath, (message) => message.type() === 'error');

  /** An empty page with the client, from an origin that is not the server's. */
  async function openOtherOrigin() {
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><link rel="icon" href="data:,">');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const opened = await openPage(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    onTestFinished(() => opened.page.close());
    await opened.page.addScriptTag({ content: script });
    return opened;
  }

  it('plays a turn on the scenario server, and reads the headers of the reply', async () => {
    const { url } = await serve({ plays: [calls(['increment', { by: 1 }]), says('One.')] });
    const { page, problems } = await openOtherOrigin();
    const played = await page.evaluate(([baseUrl, fields]) => globalThis.openai.play(baseUrl, fields), [
      url,
      counting(1),
    ] as const);
    expect(problems).toEqual([]);
    expect(played).toEqual({
      text: 'One.',
      sessionId: expect.stringMatching(/^\S+$/),
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      requestId: expect.stringMatching(/^\S+$/),
    });
  });

  it('plays a streamed turn, with a timeout and an organization of its own', async () => {
    const { url } = await serve({ plays: [says('One', ' two.')] });
    const { page, problems } = await openOtherOrigin();
    const pieces = await page.evaluate(([baseUrl, fields]) => globalThis.openai.stream(baseUrl, fields), [
      url,
      counting(0),
    ] as const);
    expect({ pieces, problems }).toEqual({ pieces: ['One', ' two.'], problems: [] });
  });

  it('reads when to come back, and what a refusal says', async () => {
    const { url } = await serve({ maxSessions: 1 });
    const { page } = await openOtherOrigin();
    const refused = await page.evaluate(
      async ([baseUrl, fields]) => {
        await globalThis.openai.play(baseUrl, fields);
        return await globalThis.openai.refusal(baseUrl, fields);
      },
      [url, counting(0)] as const,
    );
    expect(refused).toEqual({ status: 503, code: 'capacity_exceeded', retryAfter: expect.stringMatching(/^\d+$/) });
  });

  it('lists the models of the run service with its key', async () => {
    const { url, key } = await startService({ worker: false });
    const { page, problems } = await openOtherOrigin();
    const models = await page.evaluate(([baseUrl, apiKey]) => globalThis.openai.models(baseUrl, apiKey), [
      url,
      key,
    ] as const);
    expect(problems).toEqual([]);
    expect(models).toContain('proctor/oracle');
  });
});
