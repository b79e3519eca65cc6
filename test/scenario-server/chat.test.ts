import { OpenAI } from 'openai';
import { expect, it } from 'vitest';
import createCounter from '../../environments/counter/environment.ts';
import { serveScenarios } from '../../src/scenario-server.ts';

it('smoke', async () => {
  const server = await serveScenarios({
    environment: createCounter,
    model: 'proctor/oracle',
    port: 0,
    store: 'sqlite::memory:',
  });
  const post = async (path: string, body: unknown) => {
    const reply = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return [reply.status, await reply.text()];
  };
  console.log(await (await fetch(`${server.url}/scenarios`)).text());
  const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'x' });
  const first = await openai.chat.completions.create({
    model: 'proctor/oracle',
    messages: [{ role: 'user', content: 'go' }],
    scenario: 'count_to',
    scenario_args: { target: 3 },
  } as never);
  console.log(JSON.stringify(first));
  const stream = (await openai.chat.completions.create({
    model: 'proctor/oracle',
    stream: true,
    stream_options: { include_usage: true, svc_events: true },
    messages: [{ role: 'user', content: 'go' }],
    scenario: 'count_to',
    scenario_args: { target: 2 },
  } as never)) as any;
  for await (const chunk of stream) console.log(JSON.stringify(chunk));
  const id = (first as any).svc.session_id;
  console.log(await post(`/v1/sessions/${id}/finish`, {}));
  console.log(await post(`/v1/sessions/${id}/finish`, {}));
  console.log(await post(`/v1/chat/completions`, { messages: [{ role: 'user', content: 'more' }], thread_id: id }));
  console.log(await (await fetch(`${server.url}/v1/sessions?status=all`)).text());
  console.log(
    await post(`/v1/lifecycle-tools/call`, {
      name: 'scenario_start',
      arguments: { scenario: 'count_to', scenario_args: { target: 'x' } },
    }),
  );
  console.log(
    await post(`/v1/lifecycle-tools/call`, {
      name: 'scenario_start',
      arguments: { scenario: 'count_to', scenario_args: { target: 1 } },
    }),
  );
  await server.close();
  expect(1).toBe(1);
});
