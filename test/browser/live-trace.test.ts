import { describe, expect, it } from 'vitest';
import { scriptedModel } from '../../src/evaluation/testing/scripted-model.ts';
import type { ModelRequest, ModelResponse } from '../../src/models/gateway/chat-model.ts';
import { createPages } from '../../src/web/pages.ts';
import { answeringModels, SLOW_RUN, startService } from '../service/runs/service.ts';
import { newTrace } from '../store/traces/events.ts';
import { deferred } from '../support/http/http-server.ts';
import { openSite } from '../web/site.ts';
import { begun, ending, QUEUED, setUp, steps } from '../web/traces.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';
import { isRefused, signedIn } from './open-trace.ts';

const executablePath = findChromium('test/browser/live-trace.test.ts');

describe.skipIf(executablePath === undefined)('a run that goes on, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  it('is followed from the queue to its end, without the page being loaded again', async () => {
    const site = await openSite();
    const traceId = await site.addTrace([], newTrace(QUEUED));
    const { page, problems } = await openPage(await signedIn(site, `/traces/${traceId}`));
    const verdict = page.locator('.verdict h2');
    await verdict.filter({ hasText: 'Waiting for a worker' }).waitFor();
    await page.evaluate('window.isTheSame = true');
    await site.store.append(traceId, 1, begun);
    await verdict.filter({ hasText: 'The scenario is being set up' }).waitFor();
    await site.store.append(traceId, 1, [setUp, ...steps('none').slice(0, 2)]);
    await verdict.filter({ hasText: 'Step 1: the model is answering' }).waitFor();
    await site.store.append(traceId, 1, steps('none').slice(2, 4));
    await verdict.filter({ hasText: 'Step 1: find_order is running' }).waitFor();
    await page.locator('#step-1 .call', { hasText: 'find_order' }).getByText('running').waitFor();
    await site.store.append(traceId, 1, [...steps('none').slice(4), ...ending]);
    await verdict.filter({ hasText: 'Not passed' }).waitFor();
    expect(await page.locator('.big-reward-value').textContent()).toBe('0.625');
    expect(await page.locator('.trace-totals').textContent()).toContain('Tokens in8,330');
    expect(await page.evaluate('window.isTheSame')).toBe(true);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('shows what the model says token by token', async () => {
    const [maySay, mayEnd] = [deferred<void>(), deferred<void>()];
    const respond = async (request: ModelRequest): Promise<ModelResponse> => {
      await maySay.promise;
      request.onDelta?.({ reasoning: 'I count.' });
      request.onDelta?.({ content: 'It is ' });
      request.onDelta?.({ content: 'three <b>' });
      await mayEnd.promise;
      return await scriptedModel(['It is three.']).respond(request);
    };
    const models = answeringModels(respond);
    const site = await openSite({ service: { models, worker: {} } });
    const { json } = await site.run({ model: 'any' });
    const { trace_id } = json as { readonly trace_id: string };
    const { page } = await openPage(await signedIn(site, `/traces/${trace_id}`));
    await page.locator('.verdict', { hasText: 'Step 1: the model is answering' }).waitFor();
    maySay.resolve();
    await page.locator('#step-1 .pending .prose', { hasText: 'It is three <b>' }).waitFor();
    await page.locator('#step-1 .reasoning', { hasText: 'I count.' }).waitFor();
    mayEnd.resolve();
    await page.locator('#step-1 .prose', { hasText: 'It is three.' }).waitFor();
    await page.locator('#evaluation').waitFor();
    expect(await page.locator('.pending').count()).toBe(0);
    await page.close();
  });

  it('is followed on after the server was restarted, and nothing comes twice or is missed', async () => {
    const site = await openSite();
    const traceId = await site.addTrace([...begun, setUp, ...steps('none').slice(0, 2)], newTrace(QUEUED));
    const { page } = await openPage(await signedIn(site, `/traces/${traceId}`));
    await page.locator('.verdict', { hasText: 'the model is answering' }).waitFor();
    await site.close();
    await page.getByText('connection lost, trying again').waitFor();
    await site.store.append(traceId, 1, steps('none').slice(2));
    const { store, accounts, database, queue } = site;
    const pages = createPages({ store, accounts });
    await startService({ parts: { store, accounts, database, queue }, pages, worker: false, port: site.port });
    await page.locator('#step-3').waitFor();
    await page.getByText('connection lost, trying again').waitFor({ state: 'detached' });
    await store.append(traceId, 1, ending);
    await page.locator('.verdict h2', { hasText: 'Not passed' }).waitFor();
    expect(await page.locator('.step').count()).toBe(4);
    expect(await page.locator('.attempt').count()).toBe(0);
    expect(await page.locator('#step-1 .call').count()).toBe(2);
    await page.close();
  });

  it('is cancelled by its button', async () => {
    const site = await openSite({ service: { worker: {} } });
    const { json } = await site.run(SLOW_RUN);
    const { trace_id } = json as { readonly trace_id: string };
    const { page, problems } = await openPage(await signedIn(site, `/traces/${trace_id}`));
    await page.locator('.verdict', { hasText: 'is running' }).waitFor();
    await page.getByRole('button', { name: 'Cancel the run' }).click();
    await page.locator('.verdict h2', { hasText: 'Cancelled; it was not evaluated' }).waitFor();
    expect(await page.locator('.trace-header .badge').textContent()).toBe('cancelled');
    expect(await page.getByRole('button', { name: /Cancel/ }).count()).toBe(0);
    expect(problems).toEqual([]);
    await page.close();
  });
});
